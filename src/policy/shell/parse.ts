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
} from './convert-words.ts'
import type { Assign, ParsedShell, Script, ShellNode, Word, WordPart } from './tree.ts'

/** Longer commands are not read at all. A person does not review them, and a parser's worst case lies there. */
export const MAX_COMMAND = 16 * 1024

/** Brackets, substitutions and here-documents that begin. Past this a command is hostile or generated; it is never LOW. */
const MAX_OPENERS = 32
/** So many that nobody wrote them by hand: not read at all, because a parser's worst case lies there too. */
const FAR_TOO_MANY_OPENERS = 512

const OPENER = /[({`]|\$\[|<</g
/** Everything below space but tab and newline, and delete. A carriage return counts unless a newline follows. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
/** Characters that show nothing. Behind a picture character they are how emoji are spelled. */
const INVISIBLE =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\p{Default_Ignorable_Code_Point}|[\u2028\u2029\ufff9-\ufffb]/u
const LONE_SURROGATE = /\p{Surrogate}/u

/** What can be said about a command before reading it, by its characters alone. */
export function precheck(command: string): Reason[] {
  const all: Reason['at'] = [0, command.length]
  if (command.length > MAX_COMMAND)
    return [{ code: 'shell.too-long', risk: 'HIGH', text: `it is longer than ${MAX_COMMAND} characters`, at: all }]
  const found: Reason[] = []
  const look = (shape: RegExp, reason: Omit<Reason, 'at'>) => {
    const hit = shape.exec(command)
    if (hit) found.push({ ...reason, at: [hit.index, hit.index + hit[0].length] })
  }
  look(CONTROL, { code: 'text.control', risk: 'HIGH', text: 'it holds a control character' })
  look(LONE_SURROGATE, { code: 'text.broken', risk: 'HIGH', text: 'it holds half a character' })
  const opened = openers(command)
  if (opened > FAR_TOO_MANY_OPENERS) return [...found, { ...manyOpeners(all), risk: 'HIGH' }]
  if (isAscii(command)) return opened > MAX_OPENERS ? [...found, manyOpeners(all)] : found
  look(BIDI, { code: 'text.bidi', risk: 'HIGH', text: 'it holds a character that turns the direction of reading' })
  look(INVISIBLE, { code: 'text.invisible', risk: 'HIGH', text: 'it holds a character that cannot be seen' })
  return opened > MAX_OPENERS ? [...found, manyOpeners(all)] : found
}

/** Whether it may take long to read: then that is done in a worker that can be ended. What is too long is not read at all. */
export function mayBeSlow(command: string): boolean {
  if (isUnreadable(command)) return false
  return command.length > SMALL || openers(command) > MAX_OPENERS
}

/** Whether it is not read at all: what can be said of it is HIGH already. */
export function isUnreadable(command: string): boolean {
  return command.length > MAX_COMMAND || openers(command) > FAR_TOO_MANY_OPENERS
}

/** Up to here the worst input found costs the parser well under the 20 ms for which an event loop may be held. */
const SMALL = 2048

function manyOpeners(at: Reason['at']): Reason {
  const text = `it opens more than ${MAX_OPENERS} brackets or substitutions`
  return { code: 'shell.openers', risk: 'MEDIUM', text, ...(at && { at }) }
}

function openers(command: string): number {
  let count = 0
  for (const _ of command.matchAll(OPENER)) count++
  return count
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7e) return false
  return true
}

/** Reads a command as bash would, or says where it could not. Never throws: whatever goes wrong is an error of the reading. */
export function parseShell(source: string): ParsedShell {
  try {
    return convert(parse(source), source)
  } catch (error) {
    return failedParse(source, error instanceof Error ? error.message : 'the parser failed')
  }
}

/** What stands in place of a reading that could not be made: an error, which is HIGH. */
export function failedParse(source: string, message: string): ParsedShell {
  const at = [0, source.length] as const
  return { script: { at, body: [] }, errors: [{ message, at }] }
}

/** Substitutions inside substitutions. Each level is parsed again by the library, so depth is what makes input hostile. */
const MAX_DEPTH = 12

/** The library's tree as ours. Every nested script's errors are collected; a node we do not know is an error too. */
function convert(parsed: Bash.ParsedScript, source: string): ParsedShell {
  const trip: ConvertContext = {
    source,
    errors: [],
    depth: 0,
    fixed: undefined,
    nested: nestedOf,
    sums: arithmeticWords,
    checkSum: checkArithmetic,
  }
  const script = scriptOf(parsed, trip)
  return { script, errors: trip.errors }
}

function scriptOf(parsed: Bash.ParsedScript, trip: ConvertContext): Script {
  for (const error of parsed.errors ?? [])
    trip.errors.push({ message: error.message, at: convertSpan({ pos: error.pos, end: error.pos + 1 }, trip) })
  return { at: convertSpan(parsed, trip), body: parsed.commands.map(one => nodeOf(one, trip)) }
}

function nestedOf(parsed: Bash.ParsedScript | undefined, at: Span, trip: ConvertContext): Script {
  if (parsed === undefined) return failed(at, trip, 'a substitution could not be read')
  if (trip.depth >= MAX_DEPTH) return failed(at, trip, `substitutions are nested more than ${MAX_DEPTH} deep`)
  const owns = parsed.source !== undefined
  return scriptOf(parsed, {
    ...trip,
    errors: trip.errors,
    depth: trip.depth + 1,
    source: parsed.source ?? trip.source,
    fixed: owns ? at : trip.fixed,
  })
}

function failed(at: Span, trip: ConvertContext, message: string): Script {
  trip.errors.push({ message, at })
  return { at, body: [] }
}

type AnyNode = Bash.Statement | Bash.PipelineNode | Bash.AndOr | Bash.CompoundList | Bash.Elif | Bash.CaseItem

function nodeOf(node: AnyNode, trip: ConvertContext): ShellNode {
  const at = convertSpan(node, trip)
  const group = (body: ShellNode[], more: Partial<Extract<ShellNode, { is: 'group' }>> = {}): ShellNode => ({
    is: 'group',
    at,
    apart: false,
    background: false,
    body,
    words: [],
    redirects: [],
    ...more,
  })
  const all = (nodes: readonly AnyNode[]) => nodes.map(one => nodeOf(one, trip))
  const words = (list: readonly Bash.Word[]) => list.map(one => convertWord(one, trip))
  switch (node.type) {
    case 'Statement':
      return node.background
        ? group([nodeOf(node.command, trip)], { background: true, apart: true })
        : nodeOf(node.command, trip)
    case 'Command':
      return commandOf(node, trip)
    case 'Pipeline':
      return node.commands.length === 1 ? group(all(node.commands)) : { is: 'pipeline', at, parts: all(node.commands) }
    case 'AndOr':
    case 'CompoundList':
      return group(all(node.commands))
    case 'If':
      return group(all([node.clause, node.then, ...node.elif, ...(node.else ? [node.else] : [])]))
    case 'Elif':
      return group(all([node.clause, node.then]))
    case 'While':
      return group(all([node.clause, node.body]))
    case 'For':
    case 'Select': {
      const list = node.wordlist === undefined ? undefined : words(node.wordlist)
      return { is: 'loop', at, name: node.name.value, words: list, body: [nodeOf(node.body, trip)] }
    }
    case 'ArithmeticFor':
      return group([nodeOf(node.body, trip)], {
        words: [node.initialize, node.test, node.update].flatMap(one => arithmeticWords(one, trip)),
      })
    case 'Subshell':
      return group([nodeOf(node.body, trip)], { apart: true })
    case 'BraceGroup':
      return group([nodeOf(node.body, trip)])
    case 'Case':
      return group(all(node.items), { words: words([node.word]) })
    case 'CaseItem':
      return group([nodeOf(node.body, trip)], { words: words(node.pattern) })
    case 'TestCommand':
      return group([], { words: words(testWords(node.expression)) })
    case 'ArithmeticCommand':
      checkArithmetic(node.body, at, trip)
      return group([], { words: arithmeticWords(node.expression, trip) })
    case 'Redirected':
      return group([nodeOf(node.command, trip)], { redirects: node.redirects.map(one => convertRedirect(one, trip)) })
    case 'Function':
      return { is: 'function', at, name: node.name.value, body: [nodeOf(node.body, trip)] }
    case 'Coproc':
      return group([nodeOf(node.body, trip)], { background: true, apart: true })
    default: {
      trip.errors.push({ message: `${(node as { type: string }).type} is not a construct the policy knows`, at })
      return group([])
    }
  }
}

function commandOf(node: Bash.Command, trip: ConvertContext): ShellNode {
  const assigns: Assign[] = []
  for (const one of node.prefix) if (one.type === 'Assignment') assigns.push(convertAssign(one, trip))
  const words = node.name === undefined ? [] : [convertWord(node.name, trip)]
  for (const one of node.args)
    words.push(one.type === 'Assignment' ? convertAssignWord(one, trip) : convertWord(one, trip))
  const redirects = node.redirects.map(one => convertRedirect(one, trip))
  return { is: 'command', at: convertSpan(node, trip), assigns, words, redirects }
}

function testWords(expression: Bash.TestExpression): Bash.Word[] {
  switch (expression.type) {
    case 'TestUnary':
      return [expression.operand]
    case 'TestBinary':
      return [expression.left, expression.right]
    case 'TestLogical':
      return expression.operands.flatMap(testWords)
    case 'TestNot':
      return testWords(expression.operand)
    case 'TestGroup':
      return testWords(expression.expression)
  }
}

/** The words in a sum: what is substituted in them runs. */
function arithmeticWords(expression: Bash.ArithmeticExpression | undefined, trip: ConvertContext): Word[] {
  if (expression === undefined) return []
  const at = convertSpan(expression, trip)
  switch (expression.type) {
    case 'ArithmeticBinary':
      return [...arithmeticWords(expression.left, trip), ...arithmeticWords(expression.right, trip)]
    case 'ArithmeticUnary':
      return arithmeticWords(expression.operand, trip)
    case 'ArithmeticTernary':
      return [expression.test, expression.consequent, expression.alternate].flatMap(one => arithmeticWords(one, trip))
    case 'ArithmeticGroup':
      return arithmeticWords(expression.expression, trip)
    case 'ArithmeticWord': {
      const bits: WordPart[] = expression.parts
        ? convertParts(expression.parts, true, trip)
        : [{ is: 'text', value: expression.value, quoted: true }]
      return [{ text: expression.value, at, bits }]
    }
    case 'ArithmeticCommandExpansion': {
      const script = trip.nested(expression.script, at, trip)
      return [{ text: expression.text, at, bits: [{ is: 'substitution', how: '$(', script }] }]
    }
  }
}

/** `$((rm x))` is no sum. Shells differ in what they make of it, so it counts as unreadable. */
function checkArithmetic(text: string, at: Span, trip: ConvertContext): void {
  const inner = text.replace(/^\$\(\(|\)\)$/g, '').replace(/\$?\{[^}]*\}|\$\([^)]*\)|`[^`]*`/g, '1')
  if (/[A-Za-z_]\w*\s+-?[A-Za-z_]/.test(inner)) trip.errors.push({ message: 'it looks like a sum and is none', at })
}
