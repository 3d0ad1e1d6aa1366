import type { Change, ChangedFile } from '../change/change.ts'
import { isProductCode, languageOf, nameOf } from '../change/file-kind.ts'
import { removedNames } from '../change/removed-code.ts'

const CODE = /\.(java|kt|scala|groovy|cs|rb|php|swift|cpp|cc|cxx|c|h|hpp|mm?|exs?|dart|sh)$/
const DEFINED =
  /\b(?:class|interface|struct|enum|record|module|defmodule|defp?|func|fun|function|trait|object|extension|protocol)\s+(?:self\.)?([A-Za-z_]\w{2,})|\b[\w<>[\]?*&]+\s+([a-zA-Z_]\w{2,})\s*\([^;{}]*\)\s*(?:const\s*)?\{/g

/** Names that the program has no more, in whichever language it is written. */
export function namesGone(change: Change): Set<string> {
  const names = removedNames(change)
  const files = change.files.filter(isOtherCode)
  const after = files.map(file => file.after ?? '').join('\n')
  for (const file of files) {
    const isMoved = files.some(({ status, path }) => status === 'added' && nameOf(path) === nameOf(file.path))
    if (file.status === 'deleted' && !isMoved) names.add(nameOf(file.path).replace(/\.\w+$/, ''))
    for (const [, first, second] of file.removed
      .map(({ text }) => text)
      .join('\n')
      .matchAll(DEFINED)) {
      const name = first ?? second ?? ''
      if (name !== '' && !new RegExp(`\\b${name}\\b`).test(after)) names.add(name)
    }
  }
  return names
}

function isOtherCode({ path, kind }: ChangedFile): boolean {
  return kind === 'text' && CODE.test(path) && languageOf(path) === undefined && isProductCode(path)
}
