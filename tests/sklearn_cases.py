"""Rows to cluster, few and many, and what tests of clusterers share."""

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

FEW, FEW_CLASSES = make_blobs(n_samples=12, centers=3, cluster_std=0.5, random_state=0)
MANY, MANY_CLASSES = make_blobs(n_samples=45, centers=3, cluster_std=0.35, random_state=0)


def similarity(X):
    return np.exp(-squareform(pdist(X)))


def same(one, two):
    return adjusted_rand_score(one, two) == 1.0
