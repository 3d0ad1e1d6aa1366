import { stripTypeScriptTypes } from 'node:module'
import { type Class, type Node, parseSync } from 'oxc-parser'
import type { Patch } from './plant.ts'

/**
 * Applies a planted mistake to the text of a file. Throws if the patch does not match exactly: a mistake that is not
 * there would otherwise count as missed or, worse, as caught.
 */
export function applyPatch(text: string, { file, symbol, find, put }: Patch): string {
  const within = `${file}, ${symbol}`
  const [place, ...others] = findNamed(file, text).filter(({ name }) => name === symbol)
  if (!place) throw new Error(`${within}: there is no such name at the top level of the file`)
  if (others.length > 0) throw new Error(`${within}: the name stands there ${others.length + 1} times`)
  const body = text.slice(place.start, place.end)
  const count = body.split(find).length - 1
  if (count !== 1) throw new Error(`${within}: what is to be replaced stands there ${count} times: ${find}`)
  if (find === put) throw new Error(`${within}: nothing is changed`)
  const patched = `${text.slice(0, place.start)}${body.replace(find, () => put)}${text.slice(place.end)}`
  const [error] = parseSync(file, patched).errors
  if (error) throw new Error(`${within}: what comes of it cannot be parsed: ${error.message}`)
  stripTypeScriptTypes(patched) // throws the error that Node itself would report
  return patched
}

interface NamedRange {
  name: string
  start: number
  end: number
}

/** All named declarations at the top level of a file; methods are prefixed with their class. */
function findNamed(file: string, text: string): NamedRange[] {
  const { program, errors } = parseSync(file, text)
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`)
  return program.body.flatMap(statement => {
    const isExport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
    const declared = isExport ? statement.declaration : statement
    return declared ? namedIn(declared as Node) : []
  })
}

function namedIn(node: Node): NamedRange[] {
  switch (node.type) {
    case 'FunctionDeclaration':
      return node.id ? [{ name: node.id.name, start: node.start, end: node.end }] : []
    case 'VariableDeclaration':
      return node.declarations.flatMap(({ id, start, end }) =>
        id.type === 'Identifier' ? [{ name: id.name, start, end }] : [],
      )
    case 'ClassDeclaration':
      return methodsOf(node)
    default:
      return []
  }
}

function methodsOf({ id, body }: Class): NamedRange[] {
  return body.body.flatMap(member => {
    if (member.type !== 'MethodDefinition' && member.type !== 'PropertyDefinition') return []
    const { key, start, end } = member
    if (key.type !== 'Identifier' && key.type !== 'PrivateIdentifier') return []
    const name = `${id?.name ?? ''}.${key.type === 'PrivateIdentifier' ? '#' : ''}${key.name}`
    return [{ name, start, end }]
  })
}
