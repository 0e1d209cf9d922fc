"""A parser that insists: every tag is closed by its own."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "img", "br", "hr"}


class Balance(HTMLParser):
    """Every tag is closed by its own; every id occurs once."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.urls = [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        # A link that a reader may follow loads nothing; it does not say where it was followed from.
        followed = tag == "a" and given.get("rel") == "noreferrer"
        names = () if followed else ("src", "href", "xlink:href", "action", "data")
        self.urls += [given[name] for name in names if given.get(name)]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass  # of the drawing: <path/>

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())


def parsed(text):
    parser = Balance()
    parser.feed(text)
    parser.close()
    return parser
