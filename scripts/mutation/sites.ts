import { type Node, parseSync } from 'oxc-parser'

/** A small mistake in a source file: the text from `start` to `end` is replaced. */
export interface Mutation {
  kind: string
  start: number
  end: number
  replacement: string
}

type Found = Omit<Mutation, 'start' | 'end'> & { at: Node }

/** Calls that only inform people or the log, have no visible effect, or only take time. */
const SKIPPED_CALLS =
  /^(crashPoint|unreachable|sleep|messageOf|describe|brand|setName|unref|ref|\$?log|debug|info|warn)$/
const TOLD = /\blog\b/
const ERRORS = /^(\w*Error)$/
/** Calls that store something or define a search; a part of their input can be forgotten. */
const WRITES =
  /^(update|insert|insertInto|values|set|doUpdateSet|add|append|put|record|save|patch|create|write|finish|end)$/
/** A link of a call chain that filters, sorts or changes; the chain still works without it. */
const LINKS =
  /^(where|andWhere|whereRef|filter|orderBy|limit|slice|sort|toSorted|reverse|toReversed|trim|onConflict|catch)$/
const SWAPPED_CALLS: Record<string, string> = { some: 'every', every: 'some', min: 'max', max: 'min' }
const SWAPPED: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
}
/** Keys whose values are states and kinds that other code compares. */
const WORD_KEYS = /(^|_)(state|kind|status|as|to|type|actor|did|level|mode|risk|verdict|outcome|behavior)$/
const WORD = /^[a-z][a-z0-9_.-]*$/

/** Every possible mistake in a source text, in order. */
export function findMutations(path: string, text: string): Mutation[] {
  const { program, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const found: Mutation[] = []
  walk(program, [], (node, parents) => {
    for (const { at, kind, replacement } of mutationsOf(node, parents, text))
      found.push({ kind, replacement, start: at.start, end: at.end })
  })
  return found
}

/** The text with the mistake in it. */
export function applied(text: string, { start, end, replacement }: Mutation): string {
  return text.slice(0, start) + replacement + text.slice(end)
}

/** Whether a mistake changes anything and is still valid TypeScript; checked only for those that are tried. */
export function isMutant(path: string, text: string, mutation: Mutation): boolean {
  const mutated = applied(text, mutation)
  return mutated !== text && parseSync(path, mutated).errors.length === 0
}

function walk(node: Node, parents: Node[], visit: (node: Node, parents: Node[]) => void): void {
  if (isSkipped(node)) return
  visit(node, parents)
  const below = [...parents, node]
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (child && typeof child === 'object' && 'type' in child) walk(child as Node, below, visit)
}

function isSkipped(node: Node): boolean {
  if (/^TS(?!AsExpression|NonNullExpression|SatisfiesExpression)/.test(node.type)) return true
  if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return true
  if (node.type === 'IfStatement') return !node.alternate && isTold(node.consequent)
  if (node.type === 'NewExpression') return ERRORS.test(nameOf(node.callee))
  return node.type === 'CallExpression' && (SKIPPED_CALLS.test(nameOf(node.callee)) || isLogged(node.callee))
}

/** Only a line of the log depends on it. */
function isTold(node: Node): boolean {
  const inner = node.type === 'ExpressionStatement' ? node.expression : node
  return inner.type === 'CallExpression' && isSkipped(inner)
}

/** `run.log.warn(…)`, `deps.log.error(…)`, `log.info(…)`. */
function isLogged(callee: Node): boolean {
  return callee.type === 'MemberExpression' && TOLD.test(nameOf(callee.object))
}

/** The last name of a call or member access: `b` of `a.b`. */
function nameOf(node: Node): string {
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') return node.name
  if (node.type === 'MemberExpression') return node.computed ? '' : nameOf(node.property)
  return ''
}

function mutationsOf(node: Node, parents: Node[], text: string): Found[] {
  const of = (at: Node) => text.slice(at.start, at.end)
  const parent = parents.at(-1)
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return [
        { at: node.test, kind: 'condition negated', replacement: `!(${of(node.test)})` },
        { at: node.test, kind: 'condition always true', replacement: 'true' },
        { at: node.test, kind: 'condition always false', replacement: 'false' },
      ]
    case 'WhileStatement':
      return [{ at: node.test, kind: 'condition always false', replacement: 'false' }]
    case 'LogicalExpression':
      if (node.operator === '??') return [{ at: node, kind: 'fallback dropped', replacement: of(node.left) }]
      return [operatorSwapped(node, node.operator, text)]
    case 'BinaryExpression':
      if (!(node.operator in SWAPPED) || (node.operator === '+' && (isText(node.left) || isText(node.right)))) return []
      return [operatorSwapped(node, node.operator, text)]
    case 'UnaryExpression':
      return node.operator === '!' && !isCondition(node, parent)
        ? [{ at: node, kind: 'not dropped', replacement: of(node.argument) }]
        : []
    case 'ExpressionStatement':
      return removed(node)
    case 'ReturnStatement':
      return node.argument ? emptied(node.argument) : []
    case 'ArrowFunctionExpression':
      return node.expression ? emptied(node.body) : []
    case 'Property':
    case 'SpreadElement':
      if (parent?.type !== 'ObjectExpression' || !isWritten(parents)) return wordsOf(node)
      return [withComma({ at: node, kind: 'property dropped', replacement: '' }, text), ...wordsOf(node)]
    case 'CallExpression':
      return callMutations(node, text)
    case 'Literal':
      return typeof node.value === 'boolean' && parent?.type !== 'ReturnStatement'
        ? [{ at: node, kind: 'boolean flipped', replacement: String(!node.value) }]
        : []
    case 'TemplateElement':
      return sqlMutations(node, text)
    default:
      return []
  }
}

/** Whether a condition is already negated. */
function isCondition(node: Node, parent: Node | undefined): boolean {
  return (parent?.type === 'IfStatement' || parent?.type === 'ConditionalExpression') && parent.test === node
}

function operatorSwapped(node: Node & { left: Node; right: Node }, operator: string, text: string): Found {
  const between = text.slice(node.left.end, node.right.start)
  const swapped = between.replace(operator, SWAPPED[operator] ?? operator)
  const replacement = text.slice(node.start, node.left.end) + swapped + text.slice(node.right.start, node.end)
  return { at: node, kind: `${operator} is ${SWAPPED[operator]}`, replacement }
}

function removed(node: Node & { expression: Node }): Found[] {
  const inner = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression
  if (isSkipped(inner)) return []
  if (inner.type === 'CallExpression') return [{ at: node, kind: 'call removed', replacement: ';' }]
  if (inner.type === 'AssignmentExpression') return [{ at: node, kind: 'assignment removed', replacement: ';' }]
  return []
}

function emptied(value: Node): Found[] {
  const inner = value.type === 'ParenthesizedExpression' ? value.expression : value
  if (inner.type === 'Literal' && typeof inner.value === 'boolean')
    return [{ at: value, kind: 'boolean flipped', replacement: String(!inner.value) }]
  if (inner.type === 'ArrayExpression')
    return inner.elements.length > 0 ? [{ at: value, kind: 'value emptied', replacement: '[]' }] : []
  const isNothing = inner.type === 'Identifier' && inner.name === 'undefined'
  if (isNothing || isSkipped(inner) || inner.type === 'ArrowFunctionExpression') return []
  return [{ at: value, kind: 'value emptied', replacement: 'undefined' }]
}

/** An object is stored if it, or a part of it, is passed to a call that writes. */
function isWritten(parents: Node[]): boolean {
  const above = parents.findLast(
    one => !/^(Object|Array|Parenthesized|Logical|Conditional)Expression|Property|SpreadElement/.test(one.type),
  )
  if (above?.type === 'CallExpression') return WRITES.test(nameOf(above.callee))
  return above?.type === 'VariableDeclarator' && /patch|row|values/i.test(nameOf(above.id as Node))
}

function withComma(one: Found, text: string): Found {
  const comma = /^\s*,/.exec(text.slice(one.at.end))?.[0].length ?? 0
  return { ...one, at: { ...one.at, end: one.at.end + comma } }
}

function wordsOf(node: Node): Found[] {
  if (node.type !== 'Property' || node.value.type !== 'Literal' || !WORD_KEYS.test(nameOf(node.key as Node))) return []
  const { value } = node.value
  if (typeof value !== 'string' || !WORD.test(value)) return []
  return [{ at: node.value, kind: 'word changed', replacement: `'other'` }]
}

function callMutations(node: Node & { callee: Node; arguments: readonly Node[] }, text: string): Found[] {
  const { callee } = node
  if (callee.type !== 'MemberExpression') return []
  const name = nameOf(callee)
  if (LINKS.test(name) && !/^(this|super)$/.test(text.slice(callee.object.start, callee.object.end)))
    return [{ at: node, kind: `${name} dropped`, replacement: text.slice(callee.object.start, callee.object.end) }]
  const swapped = SWAPPED_CALLS[name]
  if (!swapped) return []
  return [{ at: callee.property, kind: `${name} is ${swapped}`, replacement: swapped }]
}

/** For a query as text: a condition that no longer filters. */
function sqlMutations(node: Node, text: string): Found[] {
  const sql = text.slice(node.start, node.end)
  const at = sql.search(/ and /)
  if (at === -1 || !/\bwhere\b/.test(sql.slice(0, at))) return []
  return [{ at: node, kind: 'and is or', replacement: sql.replace(' and ', ' or ') }]
}

function isText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
}
