import type * as Bash from 'unbash'
import { parse } from 'unbash'
import type { Reason, Span } from '../../domain/assessment.ts'
import {
  type ConvertContext,
  convertAssign,
  convertAssignWord,
  convertParts,
  convertRedirect,
  convertSpan,
  convertWord,
  evaluated,
} from './convert-words.ts'
import type { Assign, ParsedShell, Script, ShellNode, Word, WordPart } from './tree.ts'

/** Longer commands are not parsed at all: no person reviews them, and they can hit the parser's worst case. */
export const MAX_COMMAND = 16 * 1024

/** Opening brackets, substitutions and here-documents. A command with more is hostile or generated, and never LOW. */
const MAX_OPENERS = 32
/** So many that nobody wrote them by hand. Such a command is not parsed at all, because it can hit the parser's worst case. */
const FAR_TOO_MANY_OPENERS = 512

const OPENER = /[({`]|\$\[|<</g
/** All control characters but tab and newline. A carriage return counts unless a newline follows. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
/** Invisible characters. After a pictographic character they are part of an emoji. */
const INVISIBLE =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\p{Default_Ignorable_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/u
const LONE_SURROGATE = /\p{Surrogate}/u

/** The reasons that the characters of a command give before it is parsed. */
export function precheck(command: string): Reason[] {
  const all: Reason['at'] = [0, command.length]
  if (command.length > MAX_COMMAND)
    return [{ code: 'shell.too-long', risk: 'HIGH', text: `it is longer than ${MAX_COMMAND} characters`, at: all }]
  const reasons: Reason[] = []
  const check = (shape: RegExp, reason: Omit<Reason, 'at'>) => {
    const hit = shape.exec(command)
    if (hit) reasons.push({ ...reason, at: [hit.index, hit.index + hit[0].length] })
  }
  check(CONTROL, { code: 'text.control', risk: 'HIGH', text: 'it holds a control character' })
  check(LONE_SURROGATE, { code: 'text.broken', risk: 'HIGH', text: 'it holds half a character' })
  const opened = countOpeners(command)
  if (opened > FAR_TOO_MANY_OPENERS) return [...reasons, { ...manyOpenersReason(all), risk: 'HIGH' }]
  if (isAscii(command)) return opened > MAX_OPENERS ? [...reasons, manyOpenersReason(all)] : reasons
  check(BIDI, { code: 'text.bidi', risk: 'HIGH', text: 'it holds a character that turns the direction of reading' })
  check(INVISIBLE, { code: 'text.invisible', risk: 'HIGH', text: 'it holds a character that cannot be seen' })
  return opened > MAX_OPENERS ? [...reasons, manyOpenersReason(all)] : reasons
}

/** Whether parsing may take long, so that it must happen in a worker that can be ended. A command that is too long is not parsed. */
export function mayBeSlow(command: string): boolean {
  if (isUnreadable(command)) return false
  return command.length > SMALL || countOpeners(command) > MAX_OPENERS
}

/** Whether the command is not parsed at all: `precheck` rates it HIGH already. */
export function isUnreadable(command: string): boolean {
  return command.length > MAX_COMMAND || countOpeners(command) > FAR_TOO_MANY_OPENERS
}

/** Up to this length the worst input we found costs the parser well under the 20 ms for which an event loop may be blocked. */
const SMALL = 2048

function manyOpenersReason(at: Reason['at']): Reason {
  const text = `it opens more than ${MAX_OPENERS} brackets or substitutions`
  return { code: 'shell.openers', risk: 'MEDIUM', text, ...(at && { at }) }
}

function countOpeners(command: string): number {
  let count = 0
  for (const _ of command.matchAll(OPENER)) count++
  return count
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7e) return false
  return true
}

/** Parses a command as bash would, and lists what it could not parse. Never throws: every failure is an error in the result. */
export function parseShell(source: string): ParsedShell {
  try {
    return convert(parse(source), source)
  } catch (error) {
    return failedParse(source, error instanceof Error ? error.message : 'the parser failed')
  }
}

/** The result for a text that could not be parsed: an error, which is HIGH. */
export function failedParse(source: string, message: string): ParsedShell {
  const at = [0, source.length] as const
  return { script: { at, body: [] }, errors: [{ message, at }] }
}

/** The nesting of substitutions. The library parses each level again, so depth is what makes input expensive. */
const MAX_DEPTH = 12

/** Converts the library's tree to ours. Errors of all nested scripts are collected; an unknown node is an error too. */
function convert(parsed: Bash.ParsedScript, source: string): ParsedShell {
  const context: ConvertContext = {
    source,
    errors: [],
    depth: 0,
    fixed: undefined,
    nested: convertNested,
    sums: arithmeticWords,
    checkSum: checkArithmetic,
  }
  const script = convertScript(parsed, context)
  return { script, errors: context.errors }
}

function convertScript(parsed: Bash.ParsedScript, context: ConvertContext): Script {
  for (const error of parsed.errors ?? [])
    context.errors.push({ message: error.message, at: convertSpan({ pos: error.pos, end: error.pos + 1 }, context) })
  return { at: convertSpan(parsed, context), body: parsed.commands.map(statement => convertNode(statement, context)) }
}

function convertNested(parsed: Bash.ParsedScript | undefined, at: Span, context: ConvertContext): Script {
  if (parsed === undefined) return failConversion(at, context, 'a substitution could not be read')
  if (context.depth >= MAX_DEPTH)
    return failConversion(at, context, `substitutions are nested more than ${MAX_DEPTH} deep`)
  const owns = parsed.source !== undefined
  return convertScript(parsed, {
    ...context,
    errors: context.errors,
    depth: context.depth + 1,
    source: parsed.source ?? context.source,
    fixed: owns ? at : context.fixed,
  })
}

function failConversion(at: Span, context: ConvertContext, message: string): Script {
  context.errors.push({ message, at })
  return { at, body: [] }
}

type AnyNode = Bash.Statement | Bash.PipelineNode | Bash.AndOr | Bash.CompoundList | Bash.Elif | Bash.CaseItem

function convertNode(node: AnyNode, context: ConvertContext): ShellNode {
  const at = convertSpan(node, context)
  const group = (body: ShellNode[], more: Partial<Extract<ShellNode, { is: 'group' }>> = {}): ShellNode => ({
    is: 'group',
    at,
    apart: false,
    background: false,
    maybe: false,
    body,
    words: [],
    redirects: [],
    ...more,
  })
  const all = (nodes: readonly AnyNode[]) => nodes.map(child => convertNode(child, context))
  const maybe = (child: AnyNode) => mayNotRun(convertNode(child, context))
  const words = (list: readonly Bash.Word[]) => list.map(word => convertWord(word, context))
  switch (node.type) {
    case 'Statement':
      return node.background
        ? group([convertNode(node.command, context)], { background: true, apart: true })
        : convertNode(node.command, context)
    case 'Command':
      return convertCommand(node, context)
    case 'Pipeline':
      return node.commands.length === 1 ? group(all(node.commands)) : { is: 'pipeline', at, parts: all(node.commands) }
    case 'AndOr':
      return group(convertAndOr(node, context))
    case 'CompoundList':
      return group(all(node.commands))
    case 'If':
      return group([
        convertNode(node.clause, context),
        maybe(node.then),
        ...node.elif.map(branch => maybe(branch)),
        ...(node.else ? [maybe(node.else)] : []),
      ])
    case 'Elif':
      return group([convertNode(node.clause, context), maybe(node.then)])
    case 'While': {
      const [clause, body] = [convertNode(node.clause, context), maybe(node.body)]
      return group([clause, body], isEndless(clause, body) ? { endless: true } : {})
    }
    case 'For':
    case 'Select': {
      const list = node.wordlist === undefined ? undefined : words(node.wordlist)
      return { is: 'loop', at, name: node.name.value, words: list, body: [convertNode(node.body, context)] }
    }
    case 'ArithmeticFor':
      return group([maybe(node.body)], {
        words: [node.initialize, node.test, node.update].flatMap(part => arithmeticWords(part, context)).map(evaluated),
      })
    case 'Subshell':
      return group([convertNode(node.body, context)], { apart: true })
    case 'BraceGroup':
      return group([convertNode(node.body, context)])
    case 'Case':
      return group(all(node.items), { words: words([node.word]) })
    case 'CaseItem':
      return group([convertNode(node.body, context)], { words: words(node.pattern), maybe: true })
    case 'TestCommand':
      return group([], { words: testWords(node.expression, context) })
    case 'ArithmeticCommand':
      checkArithmetic(node.body, at, context)
      return group([], { words: arithmeticWords(node.expression, context).map(evaluated) })
    case 'Redirected':
      return group([convertNode(node.command, context)], {
        redirects: node.redirects.map(redirect => convertRedirect(redirect, context)),
      })
    case 'Function':
      return { is: 'function', at, name: node.name.value, body: [convertNode(node.body, context)] }
    case 'Coproc':
      return group([convertNode(node.body, context)], { background: true, apart: true })
    default: {
      context.errors.push({ message: `${(node as { type: string }).type} is not a construct the policy knows`, at })
      return group([])
    }
  }
}

/** `a && b` runs b only after a, so b knows what a set; whoever comes after both does not know whether b ran. */
function convertAndOr({ commands, operators }: Bash.AndOr, context: ConvertContext): ShellNode[] {
  const top: ShellNode[] = []
  let here = top
  let made: string | undefined
  for (const [index, command] of commands.entries()) {
    const node = convertNode(command, context)
    if (index === 0) {
      top.push(node)
      continue
    }
    // After `||` it is not known which of both sides ran.
    if (operators[index - 1] === '||') here = top
    const branch = mayNotRun(node)
    const absent = findAbsent(commands[index - 1], operators[index - 1] === '||')
    if (absent !== undefined) branch.absent = absent
    made = operators[index - 1] === '||' ? undefined : findMade(commands[index - 1], made)
    if (made !== undefined) branch.made = made
    here.push(branch)
    here = branch.body
  }
  return top
}

/** The folder in /tmp that is there after a command, because it makes it, or goes to the one that was made. */
function findMade(command: AnyNode | undefined, before: string | undefined): string | undefined {
  const text = command === undefined ? '' : textOfTest(command)
  const [, made] = /^mkdir -p (\/tmp\/[\w-]+(?:\/[\w-]+)*)$/.exec(text) ?? []
  return made ?? (before !== undefined && text === `cd ${before}` ? before : undefined)
}

/** The file without which a command runs: `[ -f x ] || …`, `[ ! -e x ] && …`. */
function findAbsent(test: AnyNode | undefined, fails: boolean): string | undefined {
  const [, not = '', file] =
    /^(?:\[|test|\[\[) (! )?-[ef] ["']?([\w./@-]+)["']?(?: \]{1,2})?$/.exec(
      test === undefined ? '' : textOfTest(test),
    ) ?? []
  return (not === '') === fails ? file : undefined
}

function textOfTest(node: AnyNode): string {
  if (node.type === 'Statement') return textOfTest(node.command)
  if (node.type === 'Pipeline' && node.commands.length === 1 && node.commands[0]) return textOfTest(node.commands[0])
  if (node.type !== 'Command' || node.redirects.length > 0) return ''
  return [node.name, ...node.suffix].map(word => (word && 'text' in word ? word.text : '')).join(' ')
}

/** Whether a loop has no condition that could end it, and nothing in it that leaves it. */
function isEndless(clause: ShellNode, body: ShellNode): boolean {
  const [only] = listCommands(clause)
  if (listCommands(clause).length > 1 || !/^(:|true|false)$/.test(only ?? '')) return false
  return !listCommands(body).some(name => /^(break|exit|return|exec)$/.test(name))
}

/** The first words of all commands in a node. */
function listCommands(node: ShellNode): string[] {
  if (node.is === 'command') return [node.words[0]?.text ?? '']
  return (node.is === 'pipeline' ? node.parts : node.body).flatMap(listCommands)
}

function mayNotRun(node: ShellNode): Extract<ShellNode, { is: 'group' }> {
  const { at } = node
  return { is: 'group', at, apart: false, background: false, maybe: true, body: [node], words: [], redirects: [] }
}

function convertCommand(node: Bash.Command, context: ConvertContext): ShellNode {
  const assigns: Assign[] = []
  for (const item of node.prefix) if (item.type === 'Assignment') assigns.push(convertAssign(item, context))
  const words = node.name === undefined ? [] : [convertWord(node.name, context)]
  for (const arg of node.args)
    words.push(arg.type === 'Assignment' ? convertAssignWord(arg, context) : convertWord(arg, context))
  const redirects = node.redirects.map(redirect => convertRedirect(redirect, context))
  return { is: 'command', at: convertSpan(node, context), assigns, words, redirects }
}

function testWords(expression: Bash.TestExpression, context: ConvertContext): Word[] {
  switch (expression.type) {
    case 'TestUnary': {
      const word = convertWord(expression.operand, context)
      return [expression.operator === '-v' ? evaluated(word) : word]
    }
    case 'TestBinary': {
      const words = [expression.left, expression.right].map(word => convertWord(word, context))
      return /^-(eq|ne|lt|le|gt|ge)$/.test(expression.operator) ? words.map(evaluated) : words
    }
    case 'TestLogical':
      return expression.operands.flatMap(operand => testWords(operand, context))
    case 'TestNot':
      return testWords(expression.operand, context)
    case 'TestGroup':
      return testWords(expression.expression, context)
  }
}

/** The words of an arithmetic expression: substitutions in them run. */
function arithmeticWords(expression: Bash.ArithmeticExpression | undefined, context: ConvertContext): Word[] {
  if (expression === undefined) return []
  const at = convertSpan(expression, context)
  switch (expression.type) {
    case 'ArithmeticBinary':
      return [...arithmeticWords(expression.left, context), ...arithmeticWords(expression.right, context)]
    case 'ArithmeticUnary':
      return arithmeticWords(expression.operand, context)
    case 'ArithmeticTernary':
      return [expression.test, expression.consequent, expression.alternate].flatMap(part =>
        arithmeticWords(part, context),
      )
    case 'ArithmeticGroup':
      return arithmeticWords(expression.expression, context)
    case 'ArithmeticWord': {
      const bits: WordPart[] = expression.parts
        ? convertParts(expression.parts, true, context)
        : [{ is: 'text', value: expression.value, quoted: true }]
      return [{ text: expression.value, at, bits }]
    }
    case 'ArithmeticCommandExpansion': {
      const script = context.nested(expression.script, at, context)
      return [{ text: expression.text, at, bits: [{ is: 'substitution', how: '$(', script }] }]
    }
  }
}

/** `$((rm x))` is no arithmetic. Shells differ in how they read it, so it counts as unreadable. */
function checkArithmetic(text: string, at: Span, context: ConvertContext): void {
  const inner = text.replace(/^\$\(\(|\)\)$/g, '').replace(/\$?\{[^}]*\}|\$\([^)]*\)|`[^`]*`/g, '1')
  if (/[A-Za-z_]\w*\s+-?[A-Za-z_]/.test(inner))
    context.errors.push({ message: 'it looks like arithmetic but is not', at })
}
