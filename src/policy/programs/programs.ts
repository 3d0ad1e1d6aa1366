import type { ProgramRule, ProgramRules } from '../classify/call.ts'
import { BUILDERS } from './builders.ts'
import { INFRA } from './cloud.ts'
import { COMPILERS } from './compilers.ts'
import { CONTAINERS } from './containers.ts'
import { BYTES, DATA } from './data.ts'
import { DATABASES, MIGRATION_TOOLS } from './databases.ts'
import { FILES } from './files.ts'
import { FORGES } from './forges.ts'
import { GIT } from './git.ts'
import { INTERPRETERS } from './interpreters.ts'
import { MACHINE } from './machine.ts'
import { NETWORK } from './network.ts'
import { PACKAGES } from './packages.ts'
import { PAGERS, PRINTERS } from './print.ts'
import { OTHER_TOOLS, PROJECT_TOOLS, TEST_RUNNERS } from './project-tools.ts'
import { named } from './rule-builders.ts'
import { RUNNERS } from './runners.ts'
import { JAVASCRIPT, SCRIPTING_TOOLS } from './scripting.ts'
import { COMPARERS, SEARCHERS } from './search.ts'
import { SHELLS, WRAPPERS } from './shells.ts'
import { DANGERS, SYSTEM } from './system.ts'

/**
 * Programs and builtins that only print, compute, wait or change the shell that they run in, with any flags: they open no file for
 * writing, start nothing and contact nobody. Substitutions in their words are judged elsewhere.
 */
export const ANY_FLAGS =
  'echo true false : test [ pwd seq sleep basename dirname expr nproc whoami id groups logname tty uptime uname cal ncal hostid which type times ulimit shift return exit break continue dirs help getopt users lsb_release sw_vers vm_stat numfmt clear tr unalias disown bg fg caller'

const ANY_FLAG_RULES: ProgramRules = named(ANY_FLAGS, () => undefined)

/** Programs that read and print: LOW with flags that are known to be harmless. */
const READERS: ProgramRules[] = [ANY_FLAG_RULES, PRINTERS, SEARCHERS, COMPARERS, PAGERS, DATA, BYTES, MACHINE]

/** Compilers, test runners, linters and build tools: LOW for building, testing and checking the project. */
const TOOLCHAIN: ProgramRules[] = [
  ...[JAVASCRIPT, TEST_RUNNERS, SCRIPTING_TOOLS, COMPILERS],
  ...[BUILDERS, MIGRATION_TOOLS, OTHER_TOOLS],
]

/** Every table of rules. A program is in one of them. To join them takes 5 ms of every hook without a daemon. */
export const TABLES: readonly ProgramRules[] = [
  PROJECT_TOOLS,
  ...READERS,
  ...TOOLCHAIN,
  ...[PACKAGES, SYSTEM, INTERPRETERS, FILES, DATABASES, INFRA, FORGES],
  ...[CONTAINERS, NETWORK, GIT, SHELLS, WRAPPERS, RUNNERS, DANGERS],
]

/** The rule of a program. */
export function findProgram(name: string): ProgramRule | undefined {
  return TABLES.findLast(table => Object.hasOwn(table, name))?.[name]
}
