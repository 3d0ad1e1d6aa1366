import type * as Bash from 'unbash'
import type { Span } from '../../domain/assessment.ts'
import type { Assign, Redirect, Script, ShellError, Word, WordPart } from './tree.ts'

/** What is carried along while the library's tree is read. */
export interface ConvertContext {
  source: string
  errors: ShellError[]
  depth: number
  /** Set inside escaped backticks, whose offsets mean a text of their own. */
  fixed: Span | undefined
  /** Reads what is substituted: the words of a script hold scripts. */
  nested: (parsed: Bash.ParsedScript | undefined, at: Span, trip: ConvertContext) => Script
  /** Reads a sum, whose operands are words again. */
  sums: (expression: Bash.ArithmeticExpression | undefined, trip: ConvertContext) => Word[]
  checkSum: (text: string, at: Span, trip: ConvertContext) => void
}

/** `A=1`, `A+=1`, `A=(1 2)`, `A[1]=2`. */
export function convertAssign(node: Bash.Assignment, trip: ConvertContext): Assign {
  const at = convertSpan(node, trip)
  const inner = node.index === undefined ? [] : [convertWord(node.index, trip)]
  const plain = node.value.type === 'Word' && node.index === undefined
  if (node.value.type === 'ArrayValue') inner.push(...node.value.elements.map(one => convertWord(one, trip)))
  else if (!plain) inner.push(convertWord(node.value, trip))
  const value = plain && node.value.type === 'Word' ? convertWord(node.value, trip) : undefined
  return { name: node.name, at, append: node.append === true, value, inner }
}

/** `A=1` after a command (`export A=1`) is a word like any other. */
export function convertAssignWord(node: Bash.Assignment, trip: ConvertContext): Word {
  const { value, inner } = convertAssign(node, trip)
  const head: WordPart = { is: 'text', value: `${node.name}=`, quoted: false }
  const rest: WordPart[] = value ? value.bits : [{ is: 'variable', name: node.name, plain: false, quoted: true, inner }]
  return { text: node.text, at: convertSpan(node, trip), bits: [head, ...rest] }
}

/** A redirect with its target, or with the text that it feeds. */
export function convertRedirect(node: Bash.Redirection, trip: ConvertContext): Redirect {
  const at = convertSpan(node, trip)
  if (node.type === 'HereDoc') {
    const { text, parts } = node.body
    if (node.closing === undefined) trip.errors.push({ message: 'a here-document has no end', at })
    const bits: WordPart[] = parts ? convertParts(parts, true, trip) : [{ is: 'text', value: text, quoted: true }]
    return { op: node.operator, at, target: undefined, body: { text, at: convertSpan(node.body, trip), bits } }
  }
  const target = node.target === undefined ? undefined : convertWord(node.target, trip)
  if (target === undefined) trip.errors.push({ message: 'a redirect leads nowhere', at })
  return node.type === 'HereString'
    ? { op: node.operator, at, target: undefined, body: target }
    : { op: node.operator, at, target, body: undefined }
}

/** A word with its parts. */
export function convertWord(word: Bash.Word, trip: ConvertContext): Word {
  const { parts } = word
  const bits: WordPart[] = parts ? convertParts(parts, false, trip) : [{ is: 'text', value: word.value, quoted: false }]
  return { text: word.text, at: convertSpan(word, trip), bits }
}

/** The parts of a word; `quoted` when they stand in double quotes. */
export function convertParts(parts: readonly Bash.WordPart[], quoted: boolean, trip: ConvertContext): WordPart[] {
  return parts.flatMap(part => convertPart(part, quoted, trip))
}

function convertPart(part: Bash.WordPart, quoted: boolean, trip: ConvertContext): WordPart | WordPart[] {
  const at = convertSpan(part, trip)
  const wordsIn = (parts: readonly Bash.WordPart[] | undefined): Word[] =>
    parts === undefined ? [] : [{ text: part.text, at, bits: convertParts(parts, quoted, trip) }]
  switch (part.type) {
    case 'Literal':
      return { is: 'text', value: part.value, quoted }
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { is: 'text', value: part.value, quoted: true }
    case 'DoubleQuoted':
    case 'LocaleString':
      return [{ is: 'text', value: '', quoted: true }, ...convertParts(part.parts, true, trip)]
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
      const inner = part.index === undefined ? [] : [convertWord(part.index, trip)]
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

function substitutionsIn(word: Word): WordPart[] {
  return word.bits.filter(bit => bit.is === 'substitution' || bit.is === 'arithmetic')
}

function operandsOf(operation: Bash.ParameterOperation | undefined, at: Span, trip: ConvertContext): Word[] {
  if (operation === undefined) return []
  const words = (list: (Bash.Word | undefined)[]) =>
    list.filter(one => one !== undefined).map(one => convertWord(one, trip))
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
export function convertSpan(node: { pos: number; end: number }, trip: ConvertContext): Span {
  return trip.fixed ?? [node.pos, node.end]
}
