"""What metrics are called in tables."""

HEADS = {
    "relative_l2": "L2 of σ",
    "paper_l2": "L2, paper's scale",
    "cross_entropy": "cross entropy",
    "soft_dice": "Dice, paper's",
    "hard_dice": "Dice, thresholded",
    "iou": "IoU",
    "hausdorff": "Hausdorff",
    "calibration_error": "calibration error",
}
