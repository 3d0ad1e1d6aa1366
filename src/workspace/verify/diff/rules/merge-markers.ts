import { isDocument } from '../change/file-kind.ts'
import { block, type DiffRule } from './rule.ts'

/** Lines that git leaves where two sides meet. `=======` alone underlines a heading in documents. */
export const mergeMarkerRule: DiffRule = change =>
  change.files.flatMap(file => {
    const begin = file.added.find(({ text }) => /^(<{7}|>{7}|\|{7})( |$)/.test(text))
    const middle = isDocument(file.path) ? undefined : file.added.find(({ text }) => text === '=======')
    const found = begin ?? middle
    if (found === undefined) return []
    const text = `${file.path} still holds a conflict: line ${found.line} begins with "${found.text.slice(0, 7)}".`
    return [block('diff.merge-marker', text, { file: file.path, line: found.line })]
  })
