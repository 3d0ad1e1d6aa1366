import type * as Bash from 'unbash'
import type { Span } from '../../domain/assessment.ts'
import type { Assign, Bit, Redirect, Script, ShellError, Word } from './tree.ts'

/** What is carried along while the library's tree is read. */
export interface Trip {
  source: string
  errors: ShellError[]
  depth: number
  /** Set inside escaped backticks, whose offsets mean a text of their own. */
  fixed: Span | undefined
  /** Reads what is substituted: the words of a script hold scripts. */
  nested: (parsed: Bash.ParsedScript | undefined, at: Span, trip: Trip) => Script
  /** Reads a sum, whose operands are words again. */
  sums: (expression: Bash.ArithmeticExpression | undefined, trip: Trip) => Word[]
  checkSum: (text: string, at: Span, trip: Trip) => void
}

/** `A=1`, `A+=1`, `A=(1 2)`, `A[1]=2`. */
export function assignOf(node: Bash.Assignment, trip: Trip): Assign {
  const at = spanOf(node, trip)
  const inner = node.index === undefined ? [] : [wordOf(node.index, trip)]
  const plain = node.value.type === 'Word' && node.index === undefined
  if (node.value.type === 'ArrayValue') inner.push(...node.value.elements.map(one => wordOf(one, trip)))
  else if (!plain) inner.push(wordOf(node.value, trip))
  const value = plain && node.value.type === 'Word' ? wordOf(node.value, trip) : undefined
  return { name: node.name, at, append: node.append === true, value, inner }
}

/** `A=1` after a command (`export A=1`) is a word like any other. */
export function assignWord(node: Bash.Assignment, trip: Trip): Word {
  const { value, inner } = assignOf(node, trip)
  const head: Bit = { is: 'text', value: `${node.name}=`, quoted: false }
  const rest: Bit[] = value ? value.bits : [{ is: 'variable', name: node.name, plain: false, quoted: true, inner }]
  return { text: node.text, at: spanOf(node, trip), bits: [head, ...rest] }
}

/** A redirect with its target, or with the text that it feeds. */
export function redirectOf(node: Bash.Redirection, trip: Trip): Redirect {
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

/** A word with its parts. */
export function wordOf(word: Bash.Word, trip: Trip): Word {
  const { parts } = word
  const bits: Bit[] = parts ? bitsOf(parts, false, trip) : [{ is: 'text', value: word.value, quoted: false }]
  return { text: word.text, at: spanOf(word, trip), bits }
}

/** The parts of a word; `quoted` when they stand in double quotes. */
export function bitsOf(parts: readonly Bash.WordPart[], quoted: boolean, trip: Trip): Bit[] {
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
      const { operation, prefix } = part
      const plain = operation === undefined && prefix === undefined && part.index === undefined
      const all = part.index !== undefined && /^[@*]$/.test(part.index.value)
      const inner = part.index === undefined ? [] : [wordOf(part.index, trip)]
      inner.push(...operandsOf(part.operation, at, trip))
      return {
        is: 'variable',
        name: part.parameter,
        plain,
        quoted,
        inner,
        // `${!x[@]}` and `${!x@}` list names; `${!x}` is the value of whatever x names.
        ...(prefix === '!' && !all && operation?.type !== 'Names' && { indirect: true }),
        ...(operation?.type === 'Default' && operation.operator.endsWith('=') && { sets: true }),
      }
    }
    case 'CommandExpansion':
      return { is: 'substitution', how: '$(', script: trip.nested(part.script, at, trip) }
    case 'ProcessSubstitution':
      return {
        is: 'substitution',
        how: part.operator === '<' ? '<(' : '>(',
        script: trip.nested(part.script, at, trip),
      }
    case 'ArithmeticExpansion':
      trip.checkSum(part.text, at, trip)
      return { is: 'arithmetic', inner: trip.sums(part.expression, trip) }
    default:
      trip.errors.push({ message: `${(part as { type: string }).type} is not a part of a word the policy knows`, at })
      return []
  }
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

/** Where a node stands in the command. */
export function spanOf(node: { pos: number; end: number }, trip: Trip): Span {
  return trip.fixed ?? [node.pos, node.end]
}
