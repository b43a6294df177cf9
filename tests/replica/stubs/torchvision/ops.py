"""torchvision.ops of the stand-in."""

from __future__ import annotations

import torch

from torchvision import _act


def _overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    both = max(0.0, width) * max(0.0, height)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return both / (sum(areas) - both)


def nms(boxes, scores, iou_threshold):
    """Return the indexes of the boxes that stay."""
    _act.at_nms(boxes.place)
    rows, kept = boxes.tolist(), []
    for index in sorted(range(len(rows)), key=lambda i: -scores.values[i]):
        if all(_overlap(rows[index], rows[other]) <= iou_threshold for other in kept):
            kept.append(index)
    return torch.Tensor(kept, (len(kept),), boxes.place, torch.int64)
