import type * as Bash from 'unbash'
import type { Span } from '../../domain/assessment.ts'
import type { Assign, Redirect, Script, ShellError, Word, WordPart } from './tree.ts'

/** The state of a conversion of the library's tree. */
export interface ConvertContext {
  source: string
  errors: ShellError[]
  depth: number
  /** Set inside escaped backticks, whose offsets refer to a text of their own. */
  fixed: Span | undefined
  /** Converts the script of a substitution: words of a script contain scripts. */
  nested: (parsed: Bash.ParsedScript | undefined, at: Span, context: ConvertContext) => Script
  /** Converts an arithmetic expression, whose operands are words. */
  sums: (expression: Bash.ArithmeticExpression | undefined, context: ConvertContext) => Word[]
  checkSum: (text: string, at: Span, context: ConvertContext) => void
}

/** `A=1`, `A+=1`, `A=(1 2)`, `A[1]=2`. */
export function convertAssign(node: Bash.Assignment, context: ConvertContext): Assign {
  const at = convertSpan(node, context)
  const inner = node.index === undefined ? [] : [evaluated(convertWord(node.index, context))]
  const plain = node.value.type === 'Word' && node.index === undefined
  if (node.value.type === 'ArrayValue') inner.push(...node.value.elements.map(element => convertWord(element, context)))
  else if (!plain) inner.push(convertWord(node.value, context))
  const value = plain && node.value.type === 'Word' ? convertWord(node.value, context) : undefined
  const isList =
    node.value.type === 'ArrayValue' && node.index === undefined && !inner.some(({ text }) => text.startsWith('['))
  return { name: node.name, at, append: node.append === true, value, inner, ...(isList && { list: true as const }) }
}

/** `A=1` after a program (`export A=1`) is a word like any other. */
export function convertAssignWord(node: Bash.Assignment, context: ConvertContext): Word {
  const { value, inner } = convertAssign(node, context)
  const head: WordPart = { is: 'text', value: `${node.name}=`, quoted: false }
  const rest: WordPart[] = value ? value.bits : [{ is: 'variable', name: node.name, plain: false, quoted: true, inner }]
  return { text: node.text, at: convertSpan(node, context), bits: [head, ...rest] }
}

/** A redirect with its target, or with the text of a here-document or here-string. */
export function convertRedirect(node: Bash.Redirection, context: ConvertContext): Redirect {
  const at = convertSpan(node, context)
  if (node.type === 'HereDoc') {
    const { text, parts } = node.body
    if (node.closing === undefined) context.errors.push({ message: 'a here-document has no end', at })
    const bits: WordPart[] = parts ? convertParts(parts, true, context) : [{ is: 'text', value: text, quoted: true }]
    return { op: node.operator, at, target: undefined, body: { text, at: convertSpan(node.body, context), bits } }
  }
  const target = node.target === undefined ? undefined : convertWord(node.target, context)
  if (target === undefined) context.errors.push({ message: 'a redirect has no target', at })
  return node.type === 'HereString'
    ? { op: node.operator, at, target: undefined, body: target }
    : { op: node.operator, at, target, body: undefined }
}

/** A word with its parts. */
export function convertWord(word: Bash.Word, context: ConvertContext): Word {
  const { parts } = word
  const bits: WordPart[] = parts
    ? convertParts(parts, false, context)
    : [{ is: 'text', value: word.value, quoted: false }]
  return { text: word.text, at: convertSpan(word, context), bits }
}

/** The parts of a word; `quoted` if they are in double quotes. */
export function convertParts(parts: readonly Bash.WordPart[], quoted: boolean, context: ConvertContext): WordPart[] {
  return parts.flatMap(part => convertPart(part, quoted, context))
}

function convertPart(part: Bash.WordPart, quoted: boolean, context: ConvertContext): WordPart | WordPart[] {
  const at = convertSpan(part, context)
  const wordsIn = (parts: readonly Bash.WordPart[] | undefined): Word[] =>
    parts === undefined ? [] : [{ text: part.text, at, bits: convertParts(parts, quoted, context) }]
  switch (part.type) {
    case 'Literal':
      return { is: 'text', value: part.value, quoted }
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { is: 'text', value: part.value, quoted: true }
    case 'DoubleQuoted':
    case 'LocaleString':
      return [{ is: 'text', value: '', quoted: true }, ...convertParts(part.parts, true, context)]
    case 'Glob':
      return quoted ? { is: 'text', value: part.text, quoted } : { is: 'glob', value: part.text }
    case 'ExtendedGlob':
      return [{ is: 'glob', value: part.text }, ...wordsIn(part.parts).flatMap(findSubstitutions)]
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
      const index = part.index && convertWord(part.index, context)
      const inner = index === undefined ? [] : [all ? index : evaluated(index)]
      inner.push(...convertOperands(part.operation, at, context))
      return {
        is: 'variable',
        name: part.parameter,
        plain,
        quoted,
        inner,
        // `${!x[@]}` and `${!x@}` list names; `${!x}` is the value of the variable that x names.
        ...(prefix === '!' && !all && operation?.type !== 'Names' && { indirect: true }),
        ...(part.index?.value === '@' && operation === undefined && prefix === undefined && { all: true as const }),
        ...(operation?.type === 'Names' && { names: true }),
        ...(prefix === '#' && { counts: true }),
        ...(operation?.type === 'Remove' && index === undefined && prefix === undefined && readCut(operation, inner)),
        ...(operation?.type === 'Default' && operation.operator.endsWith('=') && { sets: true }),
      }
    }
    case 'CommandExpansion':
      return { is: 'substitution', how: '$(', script: context.nested(part.script, at, context) }
    case 'ProcessSubstitution':
      return {
        is: 'substitution',
        how: part.operator === '<' ? '<(' : '>(',
        script: context.nested(part.script, at, context),
      }
    case 'ArithmeticExpansion':
      context.checkSum(part.text, at, context)
      return { is: 'arithmetic', inner: context.sums(part.expression, context) }
    default:
      context.errors.push({
        message: `${(part as { type: string }).type} is not a part of a word the policy knows`,
        at,
      })
      return []
  }
}

/** What an expansion cuts off, if it is plain text. */
function readCut(
  { operator }: { operator: string },
  [operand]: readonly Word[],
): { cuts?: { end: boolean; text: string } } {
  const bits = operand?.bits ?? []
  if (bits.length === 0 || !bits.every(bit => bit.is === 'text' && !/[~\\]/.test(bit.value))) return {}
  const text = bits.map(bit => (bit.is === 'text' ? bit.value : '')).join('')
  return { cuts: { end: operator.startsWith('%'), text } }
}

function findSubstitutions(word: Word): WordPart[] {
  return word.bits.filter(bit => bit.is === 'substitution' || bit.is === 'arithmetic')
}

function convertOperands(operation: Bash.ParameterOperation | undefined, at: Span, context: ConvertContext): Word[] {
  if (operation === undefined) return []
  const words = (list: (Bash.Word | undefined)[]) =>
    list.filter(word => word !== undefined).map(word => convertWord(word, context))
  switch (operation.type) {
    case 'Default':
    case 'Remove':
    case 'CaseModification':
    case 'Transform':
      return words([operation.operand])
    case 'Replace':
      return words([operation.pattern, operation.replacement])
    case 'Slice':
      return words([operation.offset, operation.length]).map(evaluated)
    case 'Names':
      return []
    default:
      context.errors.push({ message: 'an expansion could not be read', at })
      return []
  }
}

/** A word whose text is evaluated as arithmetic: an index, an offset, an operand of `-gt`. */
export function evaluated(word: Word): Word {
  return { ...word, bits: [{ is: 'arithmetic', inner: [word] }] }
}

/** The position of a node in the command. */
export function convertSpan(node: { pos: number; end: number }, context: ConvertContext): Span {
  return context.fixed ?? [node.pos, node.end]
}
