"""Methods side by side on one problem: the paper's network and a plain one with the same points and the same schedule,
and the default, which chooses both from the symbols."""

import safenet as sn

problem = sn.library.diffusion()
# A fifth of 200 Levenberg–Marquardt steps, so that it ends in seconds; recipe="paper-1" is the paper's own schedule.
small = {"recipe": "levenberg-marquardt", "scale": 0.2, "interior": 500, "condition": 50, "width": 16}
runs = {
    "safe-net-literal": {"method": "safe-net-literal", "features": 32, **small},
    "pinn": {"method": "pinn", **small},
    "the default": {},
}
results = {}
print(f"{problem.title}\n{'':18}{'L2RE':>9}{'iterations':>12}{'seconds':>9}{'parameters':>12}")
for name, options in runs.items():
    result = results[name] = sn.solve(problem, **options).result
    print(
        f"{name:18}{result['l2re']:9.1e}{result['iterations']:12}{result['seconds']:9.1f}{result['parameters']:12}",
        flush=True,
    )
