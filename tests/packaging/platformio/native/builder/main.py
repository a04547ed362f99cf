"""Build a program for the PC with the compiler on PATH."""

from SCons.Script import AlwaysBuild, Default, DefaultEnvironment

env = DefaultEnvironment()
env.Replace(SIZETOOL=None)
program = env.BuildProgram()
Default([program])
AlwaysBuild(env.Alias("exec", program, env.VerboseAction("$PROGPATH", "Running $PROGPATH")))
