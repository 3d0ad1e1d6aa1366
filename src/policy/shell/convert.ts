import type * as Bash from 'unbash'
import type { Span } from '../../domain/assessment.ts'
import { arithmeticWords, checkArithmetic } from './convert-arithmetic.ts'
import { assignOf, assignWord, redirectOf, spanOf, type Trip, wordOf } from './convert-words.ts'
import type { Assign, Node, Reading, Script } from './tree.ts'

/** Substitutions inside substitutions. Each level is parsed again by the library, so depth is what makes input hostile. */
const MAX_DEPTH = 12

/** The library's tree as ours. Every nested script's errors are collected; a node we do not know is an error too. */
export function convert(parsed: Bash.ParsedScript, source: string): Reading {
  const trip: Trip = {
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
