import type { Call, Rule } from './call.ts'
import { runsWhenEvaluated } from './effects/evaluated.ts'
import { judgeSharedFiles } from './effects/shared-files.ts'
import { nameOf } from './names.ts'
import { PROGRAMS } from './programs/all.ts'
import { onlyAsksForHelp } from './programs/common/help.ts'
import { WAYS, WORKTREE_PROGRAMS } from './programs/git/worktree-table.ts'
import { DANGERS } from './programs/system/dangers.ts'
import { judgeUnknown } from './unknown.ts'
import type { Arg } from './words/arg.ts'

/** Judges one program call: what is its name, is there a rule for it, and what does the rule say. */
export function judgeCall(call: Call): undefined {
  const named = nameOf(call.head, call.scope, call.fence)
  for (const arg of call.args)
    if (arg.secret !== undefined && !TESTS.has(call.head.value))
      call.say('secret.variable', 'HIGH', `${arg.secret} looks like a secret`, arg)
  if (named.is === 'unknown') return call.say('name.unknown', 'HIGH', `it is not known before it runs ${named.why}`)
  call.name = named.name
  if (named.is !== 'program') judgePlace(call, named.is === 'foreign-file')
  const rule = ruleFor(named.name)
  // A function may be undefined again, be passed over by a wrapper or never come to be: it hides no program with a rule.
  if (named.is === 'program' && rule === undefined && call.direct && call.scope.functions.has(named.name)) return
  const odd = ODD_NAME.exec(named.name)
  if (odd) call.say('name.odd', 'HIGH', `the name of the program holds ${JSON.stringify(odd[0])}`)
  for (const arg of call.args) judgeLetters(call, arg)
  for (const arg of call.args) judgeArithmetic(call, arg)
  if (rule !== undefined && onlyAsksForHelp(call)) return
  const brace = call.args.find(arg => arg.text === '{' || arg.text === '}')
  if (brace && named.name !== 'find')
    call.say('shell.odd', 'MEDIUM', `${brace.text} stands where it means nothing`, brace)
  const qualifier = call.args.find(arg => arg.glob && /[*?)]\([^)]*(['":]|^\+)/.test(arg.text))
  if (qualifier) call.say('shell.odd', 'MEDIUM', `${qualifier.text} runs a command in some shells`, qualifier)
  judgeSharedFiles(call)
  if (call.fence.worktree && WORKTREE_PROGRAMS.test(named.name))
    call.say('boundary.git', 'HIGH', `${named.name} does what git may not do here: ${WAYS.land}`)
  if (rule) rule(call)
  else judgeUnknown(call, named.is === 'program')
}

/** Some file systems do not tell `RM` from `rm`, and other systems' shells do not either: danger is looked up both ways. */
function ruleFor(name: string): Rule | undefined {
  if (Object.hasOwn(PROGRAMS, name)) return PROGRAMS[name]
  const lower = name.toLowerCase().replace(/\.exe$/, '')
  return Object.hasOwn(DANGERS, lower) ? DANGERS[lower] : undefined
}

/** Reading a secret to compare it with nothing tells nobody what it is. */
const TESTS = new Set(['[', 'test'])

/** What no program is called, and what people write to make one look like another. */
const ODD_NAME = /[^\x21-\x7e]|[;|&<>()$`"'{}*?=]/

function judgePlace(call: Call, foreign: boolean): undefined {
  if (foreign) call.say('script.foreign', 'HIGH', `${call.head.text} is a program outside the project and the system`)
  else call.say('script.project', 'MEDIUM', `${call.head.text} is a program of the project`)
}

/** Letters and signs made to look like others. Quoted, they are text. */
function judgeLetters(call: Call, arg: Arg): undefined {
  if (ASCII.test(arg.text) || /['"]/.test(arg.text)) return
  if (LIKE_OPERATORS.test(arg.text))
    return call.say('text.look-alike', 'HIGH', `${arg.text} holds a sign that looks like one of the shell's`, arg)
  if (/[A-Za-z]/.test(arg.text) && LIKE_LATIN.test(arg.text))
    call.say('text.look-alike', 'MEDIUM', `${arg.text} mixes letters that look like those of another script`, arg)
}

/** Builtins take the index of an array for arithmetic and run what is substituted in it, quoted or not. */
function judgeArithmetic(call: Call, arg: Arg): undefined {
  if (/@P\}/.test(arg.text)) call.say('shell.arithmetic', 'MEDIUM', `${arg.text} expands a text a second time`, arg)
  if (!EVALUATES.has(call.name) || !runsWhenEvaluated(arg.value)) return
  call.say('shell.arithmetic', 'HIGH', `${arg.text} runs a command when ${call.name} evaluates it`, arg)
}

const EVALUATES = new Set(
  '[ test printf read unset let declare typeset local export readonly wait mapfile readarray getopts'.split(' '),
)
const ASCII = /^[\x00-\x7f]*$/
/** Wide, small and other forms of `;|&<>$`, a backquote, slash and dash, and blanks that are no blanks to the shell. */
const LIKE_OPERATORS =
  /[\uff1b\uff5c\uff06\uff1c\uff1e\uff04\uff40\uff0f\uff0d\u037e\u2016\u01c0\u2223\u2225\u2758\ufe31\ufe33\u204f\ufe54\u061b\u203a\u2039\u276f\u276e\ufe64\ufe65\ufe69\ufe60\u3009\u27e9\u2e35\u00a6\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/
const LIKE_LATIN =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\uff00-\uff5e\u2018-\u201f]/u
