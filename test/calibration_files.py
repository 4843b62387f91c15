"""One camera's calibration as ROS, OpenCV, Kalibr and MATLAB write it."""

import cv2
import numpy as np
import yaml
from scipy.io import savemat

K = np.array([[438.783, 0, 305.593], [0, 437.303, 243.738], [0, 0, 1]])
D = np.array([-0.361976, 0.11051, 0.001014, 0.000505, 0.02])
SIZE = (640, 480)


def ros(path, distortion=D, model="plumb_bob", size=SIZE, **more):
    table = {
        "image_width": size[0],
        "image_height": size[1],
        "camera_matrix": {"data": K.ravel().tolist()},
        "distortion_model": model,
        "distortion_coefficients": {"data": np.ravel(distortion).tolist()},
        **more,
    }
    path.write_text(yaml.safe_dump(table))


def opencv(path, distortion=D, **more):
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    storage.write("image_width", SIZE[0])
    storage.write("image_height", SIZE[1])
    storage.write("camera_matrix", K)
    storage.write("distortion_coefficients", np.reshape(distortion, (-1, 1)))
    for name, value in more.items():
        storage.write(name, value)
    storage.release()


def kalibr(path, names=("cam0",), model="radtan", distortion=D[:4]):
    camera = {
        "cam_overlaps": [],
        "camera_model": "pinhole",
        "intrinsics": [*K[[0, 1], [0, 1]].tolist(), *K[:2, 2].tolist()],
        "distortion_model": model,
        "distortion_coeffs": np.ravel(distortion).tolist(),
        "resolution": list(SIZE),
        "rostopic": "/cam0/image_raw",
    }
    path.write_text(yaml.safe_dump(dict.fromkeys(names, camera)))


def matlab(path, **fields):
    shift = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    known = {
        "ImageSize": [SIZE[1], SIZE[0]],
        "RadialDistortion": D[[0, 1, 4]],
        "TangentialDistortion": D[2:4],
        "IntrinsicMatrix": (K + shift).T,
    }
    savemat(path, {"s": {name: value for name, value in (known | fields).items() if value is not None}})
