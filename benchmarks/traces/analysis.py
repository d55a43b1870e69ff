"""A session of data analysis on a million made-up sales: the program whose blocks are in arrays.trace."""
import numpy as np
import pandas as pd

ROWS = 1_000_000
PEOPLE = ROWS // 10

random = np.random.default_rng(7)
people = pd.DataFrame({"id": np.arange(PEOPLE), "age": random.integers(18, 90, PEOPLE),
                       "town": random.integers(0, 500, PEOPLE)})
sales = pd.DataFrame({"id": random.integers(0, PEOPLE, ROWS), "day": random.integers(0, 365, ROWS),
                      "price": random.gamma(2.0, 20.0, ROWS), "count": random.poisson(3, ROWS) + 1})
sales["total"] = sales["price"] * sales["count"]
joined = sales.merge(people, on="id")
print(joined.groupby("town")["total"].agg(["sum", "mean", "count"]))
generations = pd.cut(joined["age"], [0, 30, 50, 70, 100])
by_day = joined.pivot_table(index="day", columns=generations, values="total", aggfunc="sum", observed=False)
print(by_day.rolling(14).mean().dropna())
print(joined[joined["total"] > joined["total"].quantile(0.99)].sort_values("total"))
for month in range(12):
    part = joined[joined["day"].between(30 * month, 30 * month + 29)]
    share = part["total"] / part.groupby("town")["total"].transform("sum")
    print(part.assign(share=share).nlargest(100, "share"))
