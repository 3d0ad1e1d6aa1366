import type * as Bash from 'unbash'
import type { Span } from '../../domain/assessment.ts'
import type { Assign, Bit, Node, Reading, Redirect, Script, ShellError, Word } from './tree.ts'

/** Substitutions inside substitutions. Each level is parsed again by the library, so depth is what makes input hostile. */
const MAX_DEPTH = 12

interface Trip {
  source: string
  errors: ShellError[]
  depth: number
  /** Set inside escaped backticks, whose offsets mean a text of their own. */
  fixed: Span | undefined
}

/** The library's tree as ours. Every nested script's errors are collected; a node we do not know is an error too. */
export function convert(parsed: Bash.ParsedScript, source: string): Reading {
  const trip: Trip = { source, errors: [], depth: 0, fixed: undefined }
  const script = scriptOf(parsed, trip)
  return { script, errors: trip.errors }
}

function scriptOf(parsed: Bash.ParsedScript, trip: Trip): Script {
  for (const error of parsed.errors ?? [])
    trip.errors.push({ message: error.message, at: spanOf({ pos: error.pos, end: error.pos + 1 }, trip) })
  return { at: spanOf(parsed, trip), body: parsed.commands.map(one => nodeOf(one, trip)) }
}

function nestedOf(parsed: Bash.ParsedScript | undefined, at: Span, trip: Trip): Script {
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

function failed(at: Span, trip: Trip, message: string): Script {
  trip.errors.push({ message, at })
  return { at, body: [] }
}

function spanOf(node: { pos: number; end: number }, trip: Trip): Span {
  return trip.fixed ?? [node.pos, node.end]
}

type AnyNode = Bash.Statement | Bash.PipelineNode | Bash.AndOr | Bash.CompoundList | Bash.Elif | Bash.CaseItem

function nodeOf(node: AnyNode, trip: Trip): Node {
  const at = spanOf(node, trip)
  const group = (body: Node[], more: Partial<Extract<Node, { is: 'group' }>> = {}): Node => ({
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
  const words = (list: readonly Bash.Word[]) => list.map(one => wordOf(one, trip))
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
      return group([nodeOf(node.command, trip)], { redirects: node.redirects.map(one => redirectOf(one, trip)) })
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

function commandOf(node: Bash.Command, trip: Trip): Node {
  const assigns: Assign[] = []
  for (const one of node.prefix) if (one.type === 'Assignment') assigns.push(assignOf(one, trip))
  const words = node.name === undefined ? [] : [wordOf(node.name, trip)]
  for (const one of node.args) words.push(one.type === 'Assignment' ? assignWord(one, trip) : wordOf(one, trip))
  const redirects = node.redirects.map(one => redirectOf(one, trip))
  return { is: 'command', at: spanOf(node, trip), assigns, words, redirects }
}

function assignOf(node: Bash.Assignment, trip: Trip): Assign {
  const at = spanOf(node, trip)
  const inner = node.index === undefined ? [] : [wordOf(node.index, trip)]
  const plain = node.value.type === 'Word' && node.index === undefined
  if (node.value.type === 'ArrayValue') inner.push(...node.value.elements.map(one => wordOf(one, trip)))
  else if (!plain) inner.push(wordOf(node.value, trip))
  const value = plain && node.value.type === 'Word' ? wordOf(node.value, trip) : undefined
  return { name: node.name, at, append: node.append === true, value, inner }
}

/** `A=1` after a command (`export A=1`) is a word like any other. */
function assignWord(node: Bash.Assignment, trip: Trip): Word {
  const { value, inner } = assignOf(node, trip)
  const head: Bit = { is: 'text', value: `${node.name}=`, quoted: false }
  const rest: Bit[] = value ? value.bits : [{ is: 'variable', name: node.name, plain: false, quoted: true, inner }]
  return { text: node.text, at: spanOf(node, trip), bits: [head, ...rest] }
}

function redirectOf(node: Bash.Redirection, trip: Trip): Redirect {
  const at = spanOf(node, trip)
  if (node.type === 'HereDoc') {
    const { text, parts } = node.body
    if (node.closing === undefined) trip.errors.push({ message: 'a here-document has no end', at })
    const bits: Bit[] = parts ? bitsOf(parts, true, trip) : [{ is: 'text', value: text, quoted: true }]
    return { op: node.operator, at, target: undefined, body: { text, at: spanOf(node.body, trip), bits } }
  }
  const target = node.target === undefined ? undefined : wordOf(node.target, trip)
  if (target === undefined) trip.errors.push({ message: 'a redirect leads nowhere', at })
  return node.type === 'HereString'
    ? { op: node.operator, at, target: undefined, body: target }
    : { op: node.operator, at, target, body: undefined }
}

function wordOf(word: Bash.Word, trip: Trip): Word {
  const { parts } = word
  const bits: Bit[] = parts ? bitsOf(parts, false, trip) : [{ is: 'text', value: word.value, quoted: false }]
  return { text: word.text, at: spanOf(word, trip), bits }
}

function bitsOf(parts: readonly Bash.WordPart[], quoted: boolean, trip: Trip): Bit[] {
  return parts.flatMap(part => bitOf(part, quoted, trip))
}

function bitOf(part: Bash.WordPart, quoted: boolean, trip: Trip): Bit | Bit[] {
  const at = spanOf(part, trip)
  const wordsIn = (parts: readonly Bash.WordPart[] | undefined): Word[] =>
    parts === undefined ? [] : [{ text: part.text, at, bits: bitsOf(parts, quoted, trip) }]
  switch (part.type) {
    case 'Literal':
      return { is: 'text', value: part.value, quoted }
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { is: 'text', value: part.value, quoted: true }
    case 'DoubleQuoted':
    case 'LocaleString':
      return [{ is: 'text', value: '', quoted: true }, ...bitsOf(part.parts, true, trip)]
    case 'Glob':
      return quoted ? { is: 'text', value: part.text, quoted } : { is: 'glob', value: part.text }
    case 'ExtendedGlob':
      return [{ is: 'glob', value: part.text }, ...wordsIn(part.parts).flatMap(substitutionsIn)]
    case 'BraceExpansion': {
      const simple = !/[$`'"\\]/.test(part.text)
      return { is: 'brace', value: simple ? part.text : undefined, inner: wordsIn(part.parts) }
    }
    case 'SimpleExpansion':
      return { is: 'variable', name: part.text.slice(1), plain: true, quoted, inner: [] }
    case 'ParameterExpansion': {
      const plain = part.operation === undefined && part.prefix === undefined && part.index === undefined
      const inner = part.index === undefined ? [] : [wordOf(part.index, trip)]
      inner.push(...operandsOf(part.operation, at, trip))
      return { is: 'variable', name: part.parameter, plain, quoted, inner }
    }
    case 'CommandExpansion':
      return { is: 'substitution', how: '$(', script: nestedOf(part.script, at, trip) }
    case 'ProcessSubstitution':
      return {
        is: 'substitution',
        how: part.operator === '<' ? '<(' : '>(',
        script: nestedOf(part.script, at, trip),
      }
    case 'ArithmeticExpansion':
      checkArithmetic(part.text, at, trip)
      return { is: 'arithmetic', inner: arithmeticWords(part.expression, trip) }
    default:
      trip.errors.push({ message: `${(part as { type: string }).type} is not a part of a word the policy knows`, at })
      return []
  }
}

/** `$((rm x))` is no sum. Shells differ in what they make of it, so it counts as unreadable. */
function checkArithmetic(text: string, at: Span, trip: Trip): void {
  const inner = text.replace(/^\$\(\(|\)\)$/g, '').replace(/\$?\{[^}]*\}|\$\([^)]*\)|`[^`]*`/g, '1')
  if (/[A-Za-z_]\w*\s+-?[A-Za-z_]/.test(inner)) trip.errors.push({ message: 'it looks like a sum and is none', at })
}

function substitutionsIn(word: Word): Bit[] {
  return word.bits.filter(bit => bit.is === 'substitution' || bit.is === 'arithmetic')
}

function operandsOf(operation: Bash.ParameterOperation | undefined, at: Span, trip: Trip): Word[] {
  if (operation === undefined) return []
  const words = (list: (Bash.Word | undefined)[]) => list.filter(one => one !== undefined).map(one => wordOf(one, trip))
  switch (operation.type) {
    case 'Default':
    case 'Remove':
    case 'CaseModification':
    case 'Transform':
      return words([operation.operand])
    case 'Replace':
      return words([operation.pattern, operation.replacement])
    case 'Slice':
      return words([operation.offset, operation.length])
    case 'Names':
      return []
    default:
      trip.errors.push({ message: 'an expansion could not be read', at })
      return []
  }
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

function arithmeticWords(expression: Bash.ArithmeticExpression | undefined, trip: Trip): Word[] {
  if (expression === undefined) return []
  const at = spanOf(expression, trip)
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
      const bits: Bit[] = expression.parts
        ? bitsOf(expression.parts, true, trip)
        : [{ is: 'text', value: expression.value, quoted: true }]
      return [{ text: expression.value, at, bits }]
    }
    case 'ArithmeticCommandExpansion': {
      const script = nestedOf(expression.script, at, trip)
      return [{ text: expression.text, at, bits: [{ is: 'substitution', how: '$(', script }] }]
    }
  }
}
