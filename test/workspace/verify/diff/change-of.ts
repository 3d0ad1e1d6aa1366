import type { DiffChange } from '../../../../src/workspace/verify/diff/change.ts'

/** The change of one file, without git: lines that only one side has are added or removed. */
export function changeOf(path: string, before: string | undefined, after: string | undefined): DiffChange {
  const lines = (text = '', other = '') => {
    const there = new Set(other.split('\n'))
    return text.split('\n').flatMap((line, at) => (there.has(line) ? [] : [{ line: at + 1, text: line }]))
  }
  const status = before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified'
  const sides = { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }
  const file = {
    path,
    status,
    kind: 'text',
    ...sides,
    added: lines(after, before),
    removed: lines(before, after),
  } as const
  return { files: [file], unread: [], unchanged: new Map() }
}
