"""Code that was written for PySpark, as operators: `mapInArrow` and `mapInPandas`, UDFs, and `StatefulProcessor`."""
