import { join } from 'node:path'
import type { Reason } from '../../domain/assessment.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import { judgePath } from '../paths/judge-path.ts'
import { GIT_ALTERNATIVES, WORKTREE_PROGRAMS } from '../programs/git-worktree.ts'
import { isKnownTool, judgeKnownTool } from '../programs/known-tools.ts'
import { isHeaderForThisMachine } from '../programs/network.ts'
import { findProgram } from '../programs/programs.ts'
import {
  judgeCommandFlags,
  judgeConsole,
  judgeEnvironmentFlags,
  judgeScriptSteps,
  judgeSteps,
} from '../programs/step-names.ts'
import { DANGERS } from '../programs/system.ts'
import { judgeProgramText, judgeTasks } from '../programs/task-files.ts'
import { judgeEmptied, judgeSilencing } from '../programs/tool-rule.ts'
import { type Arg, HOLE, isFlag } from '../shell/args.ts'
import { expandWords } from '../shell/expand.ts'
import { findEvaluated, namesOutside, type ShellScope } from '../shell/scope.ts'
import type { Word } from '../shell/tree.ts'
import type { ProgramCall, ProgramRule } from './call.ts'
import { wasWritten } from './judge-file.ts'

/** Judges one program call: resolves its name, finds the rule for it and applies the rule. */
export function judgeCall(call: ProgramCall): undefined {
  const named = resolveName(call.head, call.scope, call.fence)
  if (named.is === 'unknown') return call.say('name.unknown', 'HIGH', `it is not known before it runs ${named.why}`)
  call.name = named.name
  for (const arg of call.args)
    if (arg.secret !== undefined && !TESTS.has(call.head.value) && !isHeaderForThisMachine(arg, call))
      call.say('secret.variable', 'HIGH', `${arg.secret} looks like a secret`, arg)
  if (named.is !== 'program') judgeProgramFile(call, named.is === 'foreign-file')
  if (named.is === 'project-file') call.script(join(call.fence.boundary, named.path), call.head)
  const rule = findProgramRule(named.name)
  // A function may be unset again, bypassed by a wrapper or never be defined, so it does not hide a program that has a rule.
  if (named.is === 'program' && rule === undefined && call.direct && call.scope.functions.has(named.name)) return
  const odd = ODD_NAME.exec(named.name)
  if (odd) call.say('name.odd', 'HIGH', `the name of the program holds ${JSON.stringify(odd[0])}`)
  for (const arg of call.args) judgeLetters(call, arg)
  for (const arg of call.args) judgeArithmetic(call, arg)
  const isInstalled = named.is === 'project-file' && INSTALLED.test(named.path)
  const isBare = named.is === 'program' || isInstalled
  if ((rule !== undefined || isInstalled || (isBare && isKnownTool(named.name))) && onlyAsksForHelp(call)) return
  const brace = call.args.find(arg => arg.text === '{' || arg.text === '}')
  if (brace && named.name !== 'find')
    call.say('shell.odd', 'MEDIUM', `${brace.text} means nothing at this point`, brace)
  const qualifier = call.args.find(arg => arg.glob && /[*?)]\([^)]*(['":]|^\+)/.test(arg.text))
  if (qualifier) call.say('shell.odd', 'MEDIUM', `${qualifier.text} runs a command in some shells`, qualifier)
  judgeSharedFiles(call)
  if (call.fence.worktree && WORKTREE_PROGRAMS.test(named.name))
    call.say('boundary.git', 'HIGH', `${named.name} does what git may not do here: ${GIT_ALTERNATIVES.commit}`)
  judgeCommandFlags(call)
  judgeSteps(call)
  judgeTasks(call)
  judgeEmptied(call)
  judgeSilencing(call)
  judgeConsole(call)
  judgeEnvironmentFlags(call)
  if (rule) rule(call)
  else if (!(isBare && judgeKnownTool(call))) judgeUnknown(call, isBare)
}

/** Where package managers put programs: a file there is the program of that name, and none that the project wrote. */
const INSTALLED = /(^|\/)(node_modules\/\.bin|\.?v?env\/(bin|Scripts)|vendor\/bin)\/[^/]+$/

/** Some file systems, and the shells of some systems, ignore case (`RM` is `rm`), so dangerous programs are found in any case. */
function findProgramRule(name: string): ProgramRule | undefined {
  const lower = name.toLowerCase().replace(/\.exe$/, '')
  return findProgram(name) ?? (Object.hasOwn(DANGERS, lower) ? DANGERS[lower] : undefined)
}

/** Programs that only test a value and do not show it: a secret in their arguments stays hidden. */
const TESTS = new Set(['[', 'test'])

/** Characters that occur in no program's name, and those that make one name look like another. */
const ODD_NAME = /[^\x21-\x7e]|[;|&<>()$`"'{}*?=]/

function judgeProgramFile(call: ProgramCall, foreign: boolean): undefined {
  // What was compiled here from the project is as much its own as what its build makes.
  const isMade = foreign && call.scope.compiled.has(call.head.value) && !wasWritten(call.head, call)
  if (isMade) call.say('script.project', 'MEDIUM', `${call.head.text} is a program that was just built`)
  if (foreign)
    call[isMade ? 'hold' : 'say'](
      'script.foreign',
      'HIGH',
      `${call.head.text} is a program outside the project and the system`,
    )
  else if (wasWritten(call.head, call))
    call.say('script.written', 'HIGH', `${call.head.text} was written by the same command, and nobody has read it`)
  else {
    judgeScriptSteps(call, call.head)
    judgeProgramText(call, call.head)
    call.say('script.project', 'MEDIUM', `${call.head.text} is a program of the project`)
  }
}

/** Characters that look like others. In quotes they are text. */
function judgeLetters(call: ProgramCall, arg: Arg): undefined {
  if (ASCII.test(arg.text) || /['"]/.test(arg.text)) return
  if (LIKE_OPERATORS.test(arg.text))
    return call.say('text.look-alike', 'HIGH', `${arg.text} holds a sign that looks like one of the shell's`, arg)
  if (/[A-Za-z]/.test(arg.text) && LIKE_LATIN.test(arg.text))
    call.say('text.look-alike', 'MEDIUM', `${arg.text} mixes letters that look like those of another script`, arg)
}

/** Builtins evaluate an array index as arithmetic and run command substitutions in it, quoted or not. */
function judgeArithmetic(call: ProgramCall, arg: Arg): undefined {
  if (/@P\}/.test(arg.text)) call.say('shell.arithmetic', 'MEDIUM', `${arg.text} expands a text a second time`, arg)
  if (!EVALUATES.has(call.name)) return
  // After `declare -i x` every later value of x is evaluated.
  const isLater = !arg.value.includes('=') && !isFlag(arg) && call.name !== 'let' && call.scope.outside.size > 0
  if (isEvaluated(arg, call) && (!arg.known || isLater || namesOutside(arg.value, call.scope)))
    call.say('shell.arithmetic', 'MEDIUM', mayRun(arg), arg)
  if (!runsWhenEvaluated(arg.value)) return
  call.say('shell.arithmetic', 'HIGH', `${arg.text} runs a command when ${call.name} evaluates it`, arg)
}

/** Whether a builtin evaluates a whole word: `let x`, `declare -i x=…`, `[ -v x ]`, `unset x`. */
function isEvaluated(arg: Arg, { name, args }: ProgramCall): boolean {
  if (name === 'let') return true
  if (name === '[' || name === 'test') return args[args.indexOf(arg) - 1]?.value === '-v'
  if (name === 'unset') return !arg.known
  return /^(declare|typeset|local|export|readonly)$/.test(name) && args.some(({ value }) => /^-[a-zA-Z]*i/.test(value))
}

const EVALUATES = new Set(
  '[ test printf read unset let declare typeset local export readonly wait mapfile readarray getopts'.split(' '),
)
const ASCII = /^[\x00-\x7f]*$/
/** Wide, small and other forms of `;|&<>$`, backquote, slash and dash, and blanks that the shell does not treat as blanks. */
const LIKE_OPERATORS =
  /[\uff1b\uff5c\uff06\uff1c\uff1e\uff04\uff40\uff0f\uff0d\u037e\u2016\u01c0\u2223\u2225\u2758\ufe31\ufe33\u204f\ufe54\u061b\u203a\u2039\u276f\u276e\ufe64\ufe65\ufe69\ufe60\u3009\u27e9\u2e35\u00a6\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/
const LIKE_LATIN =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\uff00-\uff5e\u2018-\u201f]/u

/** What a program's name refers to. */
export type ResolvedName =
  /** A bare name or a system path: the program of that name. */
  | { is: 'program'; name: string }
  /** A file of the project: its name says nothing about what it does. */
  | { is: 'project-file'; name: string; path: string }
  | { is: 'foreign-file'; name: string; path: string }
  | { is: 'unknown'; why: string }

const SYSTEM =
  /^\/(usr\/(local\/)?)?s?bin\/([^/]+)$|^\/(opt\/(homebrew|local)|home\/linuxbrew\/\.linuxbrew)\/s?bin\/([^/]+)$|^\/usr\/lib\/git-core\/([^/]+)$/

/** Resolves the first word of a command. */
function resolveName(head: Arg, scope: ShellScope, fence: Fence): ResolvedName {
  const { value } = head
  if (!head.known) {
    const base = value.slice(value.lastIndexOf('/') + 1)
    return { is: 'unknown', why: base.includes(HOLE) ? 'which program it is' : 'where the program is' }
  }
  if (head.glob) return { is: 'unknown', why: 'which program the pattern finds' }
  if (value === '') return { is: 'unknown', why: 'which program it is' }
  if (!value.includes('/')) return { is: 'program', name: value }
  const name = value.slice(value.lastIndexOf('/') + 1)
  if (scope.cwd === undefined && !value.startsWith('/')) return { is: 'foreign-file', name, path: value }
  const place = locatePath(value, scope.cwd ?? fence.boundary, fence)
  if (place.where === 'strange') return { is: 'unknown', why: 'where the program is' }
  if (place.where === 'inside') return { is: 'project-file', name, path: place.relative }
  // A path is the system's by its spelling or by its target: links in /usr/bin are the system's own.
  const spelled = SYSTEM.exec(value) ?? SYSTEM.exec(place.path)
  if (spelled) return { is: 'program', name: spelled[3] ?? spelled[6] ?? spelled[7] ?? name }
  return { is: 'foreign-file', name, path: place.path }
}

const HELP = new Set(['--help', '--version', '-help', '-version', '--usage'])

/** Programs that accept `verb --help`, or `help verb`. */
const WITH_VERBS = new Set(
  'git npm pnpm yarn bun deno cargo rustup go docker podman kubectl helm terraform tofu pulumi aws gcloud az gh glab pip pip3 uv poetry pipenv brew apt apt-get systemctl vercel netlify heroku fly flyctl firebase make nx turbo prisma rails bundle gem composer dotnet mvn gradle ng vite next pytest supabase wrangler'.split(
    ' ',
  ),
)

/** Flags that alone print the version of the programs in `SHORT_VERSION`. */
const SHORT = /^(-v|-V)$/

const SHORT_VERSION = new Set(
  'node npm npx pnpm yarn bun deno python python3 python2 ruby perl php java javac go rustc cargo gcc g++ clang tsc git make cmake docker pip pip3 ssh psql eslint prettier jest mocha vitest lua R ghc dotnet swift kotlinc scala bash zsh'.split(
    ' ',
  ),
)

/** Whether a call only prints the program's version or help. The name must be that of a program with a rule. */
function onlyAsksForHelp({ name, args }: ProgramCall): boolean {
  const [first, second] = args
  if (first === undefined || !args.every(arg => arg.known && !arg.glob) || args.length > 3) return false
  if (args.length === 1) {
    if (HELP.has(first.value)) return !NEVER.has(name)
    return SHORT.test(first.value)
      ? SHORT_VERSION.has(name)
      : WITH_VERBS.has(name) && /^(help|version)$/.test(first.value)
  }
  if (!WITH_VERBS.has(name)) return false
  if (first.value === 'help') return args.every(arg => /^[a-z][a-z-]*$/.test(arg.value))
  const last = args.at(-1)?.value
  const words = args.slice(0, -1).every(arg => /^[a-z][a-z-]*$/.test(arg.value))
  return (
    words && (last === '--help' || (last === '-h' && second !== undefined && name !== 'git')) && !RUNS.test(first.value)
  )
}

/** Programs that would read `--help` as something else: a host, a file, a command. */
const NEVER = new Set(['echo', 'eval', 'source', '.', 'busybox', 'toybox', 'exec', 'builtin'])

/** Verbs that pass the flag on to the program that they run. */
const RUNS = /^(run|run-script|exec|dlx|x|test|start|t|explore|create|init|foreach)$/

/** Programs that change or remove their arguments, besides those whose rules judge each file. */
const CHANGES =
  /^(rm|rmdir|unlink|shred|truncate|chmod|chown|chgrp|ln|install|rsync|dd|touch|mkdir|mv|cp|tee|sed|perl|ed|ex|patch|trash|rename|tar|unzip|sponge|xattr|chattr|setfacl)$/

/** In a worktree: reports arguments of such a program that are paths the worktree shares with others, and nothing else. */
function judgeSharedFiles(call: ProgramCall): undefined {
  if (call.fence.worktree === undefined || !CHANGES.test(call.name)) return
  for (const arg of call.args) {
    const equals = arg.value.indexOf('=')
    if (!isFlag(arg)) judgeWord(call, arg, arg.value)
    if (equals > 0) judgeWord(call, arg, arg.value.slice(equals + 1))
  }
}

function judgeWord(call: ProgramCall, arg: Arg, value: string): undefined {
  if (value === '' || value.includes(HOLE)) return
  const cwd = call.scope.cwd ?? call.fence.boundary
  // In a pattern only the part before the first wildcard is a path.
  const path = arg.glob ? value.replace(/[^/]*[*?[].*$/s, '') : value
  if (path === '') return
  const { code, risk, text } = judgePath(path, 'write', { cwd, fence: call.fence })
  if (code === 'boundary.file') call.say(code, risk, text, arg)
}

/** Operands of arithmetic: an array index in them is evaluated too, and substitutions there run. */
export function judgeEvaluated(
  operands: readonly Word[],
  scope: ShellScope,
  add: (reason: Reason) => undefined,
): undefined {
  for (const { value, text, at } of expandWords(operands, scope))
    if (runsWhenEvaluated(value))
      add({ code: 'shell.arithmetic', risk: 'HIGH', text: `${text} runs a command when it is evaluated`, at })
  const outside = findEvaluated(operands, scope)
  if (outside) add({ code: 'shell.arithmetic', risk: 'MEDIUM', text: mayRun(outside), at: outside.at })
}

function mayRun({ text }: { text: string }): string {
  return `${text} may hold a text that runs a command when it is evaluated`
}

/** Whether a text contains an array index with a command substitution in it. */
function runsWhenEvaluated(text: string): boolean {
  return /\[[^\]]*(\$\(|`)/.test(text)
}

/** Words that mean destruction in any program. */
const DESTRUCTIVE =
  /^-*(delete|destroy|rm|rmi|rmdir|remove|drop|purge|prune|wipe|wipeall|format|erase|kill|killall|terminate|uninstall|unlink|truncate|publish|unpublish|upload|push|flush|flushall|flushdb|reset|teardown|nuke|clean-all|deprovision|revoke|shutdown|reboot|poweroff|factory-reset|undeploy|shred|overwrite|drop-database|delete-.*|destroy-.*|remove-.*|drop-.*|purge-.*|terminate-.*|.*[:.](delete|destroy|drop|purge|remove|reset|wipe))$/i
const FORCING =
  /^(--force|--yes|--assume-yes|--no-confirm|--noconfirm|--force-.*|--hard|--no-preserve-root|--i-know-what-i-am-doing|--yes-.*|--auto-approve|--delete|--overwrite)$/i

/** A server of this machine, which a program of the project may well ask. */
const OWN_ADDRESS = /^https?:\/\/(localhost|127\.0\.0\.1)(:\d+)?(\/[\w./?=&-]*)?$/

/** Reserved words of the shell. As a program's name they are a slip or a trick, and the following words were not read as a command. */
const RESERVED = new Set(
  '! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while'.split(' '),
)

/** Judges a program without a rule: never LOW, and HIGH if its words sound like destruction. */
function judgeUnknown(call: ProgramCall, bare: boolean): undefined {
  const { args, name } = call
  if (RESERVED.has(name)) return call.say('name.reserved', 'HIGH', `${name} is a word of the shell, not a program`)
  if (bare) call.say('program.unknown', 'MEDIUM', `${name} is not a program the policy knows`)
  for (const arg of args) {
    if (!arg.known || (!bare && OWN_ADDRESS.test(arg.value))) continue
    const [key, value] = isFlag(arg) && arg.value.includes('=') ? split(arg.value) : [arg.value, undefined]
    if (DESTRUCTIVE.test(key)) call.say('words.destructive', 'HIGH', `${arg.text} sounds like destruction`, arg)
    else if (FORCING.test(key) || (bare && (key === '-f' || key === '-y')))
      call.say('words.force', 'HIGH', `${arg.text} skips what would stop it`, arg)
    call.path({ ...arg, value: value ?? arg.value }, 'read')
  }
}

function split(flag: string): [string, string] {
  const equals = flag.indexOf('=')
  return [flag.slice(0, equals), flag.slice(equals + 1)]
}
