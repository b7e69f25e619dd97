"""Operations on columns of tables."""

import numpy as np
from scipy import sparse
from sklearn.utils import murmurhash3_32


def hash_strings(data, offsets):
    data, keys = data.tobytes(), np.empty(len(offsets) - 1, np.uint64)
    known = {}
    for i in range(len(keys)):
        text = data[offsets[i] : offsets[i + 1]]
        if text not in known:
            low, high = (murmurhash3_32(text, seed, positive=True) for seed in (0, 1))
            known[text] = high << 32 | low
        keys[i] = known[text]
    return keys


def find_slots(slots, keys, is_given, learns):
    found = np.full(keys.shape, -1, np.int32)
    came = np.zeros(slots.keys.shape, np.int64)
    for j in range(keys.shape[1]):
        known, n_used = slots.keys[j], int(slots.n_used[j])
        slot_of = {key: slot for slot, key in enumerate(known[:n_used].tolist())}
        for r in np.flatnonzero(is_given[:, j]):
            if not slots.is_open[j]:
                break
            key, is_full = int(keys[r, j]), n_used == len(known)
            slot = found[r, j] = slot_of.get(key, -1 if is_full else n_used)
            if is_full or not learns:
                continue
            slots.n_seen[j] += 1
            if slot == n_used:
                known[slot], slot_of[key], came[j, slot] = key, slot, r
                n_used += 1
                is_of_use = slots.n_seen[j] >= slots.fewest_seen
                slots.is_open[j] = n_used < len(known) or is_of_use
        slots.n_used[j] = n_used
    return found, came


def join_entries(entries, n_columns):
    n, n_values = entries.values.shape
    is_value = (entries.values != 0.0) & ~np.isnan(entries.values)
    is_code = entries.codes >= 0
    rows = [np.nonzero(given)[0] for given in (is_value, is_code)]
    rows.append(np.repeat(np.arange(n), np.diff(entries.indptr)))
    columns = [
        np.nonzero(is_value)[1],
        entries.codes[is_code],
        n_columns + entries.hashed,
    ]
    data = [entries.values[is_value], *(np.ones(len(row)) for row in rows[1:])]
    joined = sparse.coo_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n, 2**31 - 1),
    ).tocsr()
    joined.sum_duplicates()
    joined.data[joined.indices >= n_values] = 1.0
    indices, indptr = (a.astype(np.int32) for a in (joined.indices, joined.indptr))
    return joined.data, indices, indptr
