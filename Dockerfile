# docker build -t safenet . && docker run --rm -v "$PWD/runs:/work/runs" safenet solve wave
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir -c /source/constraints.txt "/source[data,report]" && rm -rf /source
WORKDIR /work
ENTRYPOINT ["safenet"]
CMD ["--help"]
