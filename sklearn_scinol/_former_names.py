"""Former names of classes and attributes, for files of earlier versions."""

import json
from io import BytesIO
from zipfile import ZipFile

SCHEMA = "schema.json"  # of skops: the structure of a model

#: Former and present names of classes, below the package.
CLASSES = {
    "engines.protocol.Hedge": "advice.adahedge.AdaHedgeState",
    "engines.protocol.Shares": "advice.fixed_share.FixedShareState",
    "engines.protocol.Slots": "blocks.Slots",
    "estimators.hedge.HedgeClassifier": "mixtures.classifier.HedgeClassifier",
    "estimators.hedge.HedgeRegressor": "mixtures.regressor.HedgeRegressor",
    "learners.code.CODE": "learners.coin_ode.CODE",
    "models.adahedge.AdaHedge": "mixtures.adahedge.AdaHedge",
    "models.expert.Expert": "mixtures.expert.Expert",
    "models.fixed_share.FixedShare": "mixtures.fixed_share.FixedShare",
    "models.meaning.Meaning": "mixtures.mixing_scale.MixingScale",
    "models.mixture.MixtureModel": "mixtures.model.MixtureModel",
    "models.target_range.TargetRange": "mixtures.target_range.TargetRange",
    "preprocessing.OnlineBinner": "preprocessing.binner.OnlineBinner",
}

#: Former and present names of attributes, by the present name of their class.
ATTRIBUTES = {
    "mixtures.expert.Expert": {"is_ours": "is_native", "meaning": "mixing_scale"},
    "mixtures.model.MixtureModel": {"meaning": "mixing_scale"},
}


def with_present_names(data):
    """Return the bytes of a file of skops with present names."""
    with ZipFile(BytesIO(data)) as archive:
        schema = archive.read(SCHEMA)
        if not any(f'"{_module(name)}"'.encode() in schema for name in CLASSES):
            return data
        schema = json.dumps(json.loads(schema, object_hook=_renamed))
        file = BytesIO()
        with ZipFile(file, "w") as written:
            for name in archive.namelist():
                content = schema if name == SCHEMA else archive.read(name)
                written.writestr(name, content)
    return file.getvalue()


def _module(name):
    return f"sklearn_scinol.{name.rpartition('.')[0]}"


def _renamed(node):
    """Rename a node of a schema, whose children were renamed before."""
    module = str(node.get("__module__"))
    if not module.startswith("sklearn_scinol."):
        return node
    name = f"{module.removeprefix('sklearn_scinol.')}.{node['__class__']}"
    name = CLASSES.get(name, name)
    node["__module__"], node["__class__"] = _module(name), name.rpartition(".")[2]
    attributes = ATTRIBUTES.get(name)
    if attributes and node.get("content"):
        state = node["content"]
        state["content"] = {
            attributes.get(attribute, attribute): value
            for attribute, value in state["content"].items()
        }
    return node
