import { isDeepStrictEqual } from 'node:util'
import { createScanner, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { parseJson } from '../../../base/json.ts'

/** A settings file that cannot be edited; the message says why, for a person. */
export class NotEditable extends Error {}

/** An element that is put at the end of a list, which is made if it is missing. */
export interface Addition {
  path: readonly string[]
  value: unknown
}

/**
 * Adds elements to lists of a JSON text, which may have comments. Everything else stays as it is: order, comments, indentation, line
 * endings. `removeElements` is the exact opposite.
 */
export function addElements(text: string, additions: readonly Addition[]): string {
  const { mark, body } = splitMark(text)
  let edited = body
  const expected = parseValue(edited)
  for (const addition of additions) {
    edited = addOne(edited, addition)
    addToValue(expected, addition)
  }
  if (!isDeepStrictEqual(parseValue(edited), expected)) throw new NotEditable(UNUSUAL)
  return mark + edited
}

/**
 * Removes the elements of the lists below `top` that `isOurs` knows, also where somebody has moved them or wrote something around them.
 * A group (`{ hooks: [ … ] }`) goes with the last of its own hooks. A list or object that becomes empty goes too, unless it is in the
 * text as it was before our elements were added.
 */
export function removeElements(
  text: string,
  { top, isOurs, before }: { top: string; isOurs: (value: unknown) => boolean; before?: string | undefined },
): string {
  const { mark, body } = splitMark(text)
  if (body.trim() === '') return text
  let edited = body
  const old = before === undefined || before.trim() === '' ? undefined : parse(splitMark(before).body)
  const was: Before = names => {
    const node = names.reduce<Node | undefined>((at, name) => at && findProperty(at, name)?.children?.[1], old)
    return node && splitMark(before ?? '').body.slice(node.offset + 1, endOf(node) - 1)
  }
  for (;;) {
    const root = parse(edited)
    const holder = findProperty(root, top)?.children?.[1]
    const found = (holder?.children ?? [])
      .flatMap(property => property.children?.[1]?.children ?? [])
      .flatMap(element => findOurs(element, isOurs))[0]
    if (!found) return mark + edited
    edited = removeWithEmpty(edited, found, was)
  }
}

/** What was between the brackets of the list or object with these names on the way to it; undefined if there was none. */
type Before = (names: readonly string[]) => string | undefined

const UNUSUAL = 'it is written in a way that cannot be edited safely'

/** Some editors begin a file with a byte order mark. */
function splitMark(text: string): { mark: string; body: string } {
  return text.startsWith('\uFEFF') ? { mark: '\uFEFF', body: text.slice(1) } : { mark: '', body: text }
}

const OPTIONS = { allowTrailingComma: true, disallowComments: false }

/** Whether a text is JSON as the standard has it, without comments and without a comma at the end of a list. */
export function isStrictJson(text: string): boolean {
  return parseJson(splitMark(text).body) !== undefined
}

/** The value of a text that may have comments. Throws `NotEditable`. */
export function parseValue(text: string): unknown {
  // The parser makes objects without a prototype.
  return JSON.parse(JSON.stringify(getNodeValue(parse(splitMark(text).body))))
}

function parse(text: string): Node {
  const errors: ParseError[] = []
  const root = parseQuietly(text, errors)
  const [first] = errors
  if (first) {
    const line = text.slice(0, first.offset).split('\n').length
    throw new NotEditable(`it is not valid JSON: line ${line}, ${printParseErrorCode(first.error)}`)
  }
  if (root?.type !== 'object') throw new NotEditable('it is not a JSON object')
  return root
}

function parseQuietly(text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, OPTIONS)
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new NotEditable('it is nested too deeply') // the parser is recursive
    throw thrown
  }
}

/** The property of that name. A name that is there twice means different things to different readers. */
function findProperty(object: Node, name: string): Node | undefined {
  const found = (object.children ?? []).filter(property => property.children?.[0]?.value === name)
  if (found.length > 1) throw new NotEditable(`it has "${name}" twice`)
  return found[0]
}

function addOne(text: string, { path, value }: Addition): string {
  let container = parse(text)
  for (const [depth, name] of path.entries()) {
    if (container.type !== 'object') throw new NotEditable(`"${path.slice(0, depth).join('.')}" is not an object`)
    const next = findProperty(container, name)?.children?.[1]
    if (!next) {
      const rest = path.slice(depth + 1).toReversed()
      const whole = rest.reduce<unknown>((inner, key) => ({ [key]: inner }), [value])
      return insertInto(text, { container, key: name, value: whole })
    }
    container = next
  }
  if (container.type !== 'array') throw new NotEditable(`"${path.join('.')}" is not a list`)
  return insertInto(text, { container, value })
}

interface Insertion {
  container: Node
  key?: string
  value: unknown
}

function insertInto(text: string, { container, key, value }: Insertion): string {
  const newline = /\r\n/.test(text) ? '\r\n' : '\n'
  const last = container.children?.at(-1)
  const first = container.children?.[0]
  const inside = { from: container.offset + 1, to: endOf(container) - 1 }
  const isOneLine = first !== undefined && !text.slice(inside.from, first.offset).includes('\n')
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '
  const indent = first && !isOneLine ? indentAt(text, first.offset) : indentAt(text, container.offset) + unit
  const name = key === undefined ? '' : `${JSON.stringify(key)}:${isOneLine ? '' : ' '}`
  const piece = isOneLine
    ? name + JSON.stringify(value)
    : `${newline}${indent}${name}${JSON.stringify(value, null, unit).replaceAll('\n', `${newline}${indent}`)}`
  if (!last) return insertIntoEmpty(text, inside, { piece, closing: newline + indentAt(text, container.offset) })
  const comma = nextComma(text, endOf(last), inside.to)
  if (comma !== undefined) {
    const place = isOneLine ? comma + 1 : afterComment(text, comma + 1)
    return splice(text, place, place, `${piece},`)
  }
  const place = isOneLine ? endOf(last) : afterComment(text, endOf(last))
  return splice(splice(text, place, place, piece), endOf(last), endOf(last), ',')
}

function insertIntoEmpty(
  text: string,
  inside: { from: number; to: number },
  { piece, closing }: { piece: string; closing: string },
): string {
  const place = inside.from + text.slice(inside.from, inside.to).trimEnd().length // after the last comment, if there is one
  const hasLine = text.slice(place, inside.to).includes('\n')
  return splice(text, place, hasLine ? place : inside.to, hasLine ? piece : piece + closing)
}

/** The hooks of an element that are ours, or the whole element if nothing else is in it. */
function findOurs(element: Node, isOurs: (value: unknown) => boolean): Node[] {
  if (isOurs(getNodeValue(element))) return [element]
  const hooks = element.type === 'object' ? findProperty(element, 'hooks')?.children?.[1]?.children : undefined
  const ours = (hooks ?? []).filter(hook => isOurs(getNodeValue(hook)))
  return hooks && hooks.length > 0 && ours.length === hooks.length ? [element] : ours
}

/** Removes a node and every container that is empty without it and was made for it. */
function removeWithEmpty(text: string, node: Node, was: Before): string {
  const container = node.parent
  if (!container) return text
  const owner = container.parent
  const before = was(pathOf(container))
  const isLast = container.children?.length === 1
  if (isLast && owner?.type === 'property' && before === undefined) {
    const inner = text
      .slice(container.offset + 1, endOf(container) - 1)
      .replace(text.slice(node.offset, endOf(node)), '')
    if (/^[\s,]*$/.test(inner)) return removeWithEmpty(text, owner, was)
  }
  const edited = removeChild(text, container, node)
  if (!isLast || before === undefined) return edited
  const end = endOf(container) - (text.length - edited.length)
  const left = edited.slice(container.offset + 1, end - 1)
  return left.trim() === before.trim() ? splice(edited, container.offset + 1, end - 1, before) : edited
}

/** The names on the way to an object or list; the places in lists count for nothing. */
function pathOf(node: Node): string[] {
  const names: string[] = []
  for (let at: Node | undefined = node; at; at = at.parent)
    if (at.type === 'property') names.unshift(String(at.children?.[0]?.value))
  return names
}

/** Removes one child with the space before it and one comma: the one after it, else the one before it. Comments stay. */
function removeChild(text: string, container: Node, child: Node): string {
  const children = container.children ?? []
  const before = children[children.indexOf(child) - 1]
  const after = nextComma(text, endOf(child), endOf(container) - 1)
  const gap = text.slice(before ? endOf(before) : container.offset + 1, child.offset)
  const rest = text.slice(endOf(child))
  // A comment up to the end of its line must not swallow what comes next.
  const isAfterComment = /\/\/[^\n]*\n\s*$/.test(gap) && !/^\s*,?[ \t]*\r?\n/.test(rest)
  const start = child.offset - (isAfterComment ? 0 : gap.length - gap.trimEnd().length)
  let edited = text
  if (after !== undefined) edited = splice(edited, after, after + 1, '')
  edited = splice(edited, start, endOf(child), '')
  if (after !== undefined || !before) return edited
  const comma = nextComma(text, endOf(before), child.offset)
  return comma === undefined ? edited : splice(edited, comma, comma + 1, '')
}

/** Where the next comma is, if only space and comments are before it. */
function nextComma(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text.slice(from, to), true)
  return scanner.scan() === COMMA ? from + scanner.getTokenOffset() : undefined
}

/** The number of a comma in the scanner: its names exist only for the compiler. */
const COMMA = 5

/** The end of a comment that follows on the same line, or the place itself. */
function afterComment(text: string, place: number): number {
  const comment = /^[ \t]*(\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/(?=[ \t]*\r?\n))/.exec(text.slice(place))?.[0]
  return place + (comment?.length ?? 0)
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? ''
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

function splice(text: string, from: number, to: number, piece: string): string {
  return text.slice(0, from) + piece + text.slice(to)
}

function addToValue(root: unknown, { path, value }: Addition): void {
  let at = root as Record<string, unknown>
  for (const name of path.slice(0, -1)) {
    at[name] ??= {}
    at = at[name] as Record<string, unknown>
  }
  const last = path.at(-1) ?? ''
  at[last] = [...((at[last] as unknown[] | undefined) ?? []), value]
}
