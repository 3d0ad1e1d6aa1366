import type { DiffChange, DiffFile } from './change.ts'
import { testsOfSnapshot } from './diff-findings.ts'
import { isSnapshot, nameOf } from './file-kind.ts'
import { productChanges } from './removed-code.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/** Recorded expectations: a runner records whatever the program does, right or wrong. */
export const snapshotRule: DiffRule = change => {
  const snapshots = change.files.filter(file => isSnapshot(file.path))
  const code = snapshots.length === 0 ? [] : productChanges(change)
  return snapshots.flatMap(file => snapshotFindings(file, code, change))
}

function snapshotFindings(file: DiffFile, code: DiffFile[], change: DiffChange): DiffFinding[] {
  const at = { file: file.path }
  if (file.status === 'added') return []
  // Files with only added lines belong to new tests; a changed expectation has a removed line.
  if (file.status === 'modified' && file.kind === 'text' && file.removed.every(({ text }) => text.trim() === ''))
    return []
  const isTestGone = testsOfSnapshot(file.path).some(path =>
    change.files.some(each => each.path === path && each.status === 'deleted'),
  )
  if (file.status === 'deleted' && (isTestGone || isMoved(file, change)))
    return [note('test.snapshot', `${file.path} is gone, with its test.`, at)]
  if (file.status === 'deleted')
    return [
      block('test.snapshot', `${file.path} is gone, and the test that it is for will record whatever it sees.`, at),
    ]
  if (code.some(each => isAbout(file, each, change)))
    return [note('test.snapshot', `${file.path} was recorded anew, with the code that it is about.`, at)]
  const why = code.length === 0 ? 'and the program is the same' : 'and what it is about was not changed'
  return [block('test.snapshot', `${file.path} was recorded anew, ${why}: bring it back.`, at)]
}

function isMoved(file: DiffFile, { files }: DiffChange): boolean {
  return files.some(
    each =>
      each.status === 'added' &&
      isSnapshot(each.path) &&
      (each.after === file.before || nameOf(each.path) === nameOf(file.path)),
  )
}

/** Whether the name of the changed code occurs in the snapshot, in its path or in its test. */
function isAbout(file: DiffFile, code: DiffFile, { files, unchanged }: DiffChange): boolean {
  const stem = stemOf(code.path)
  // Fonts, styles and similar files can affect every snapshot.
  if (
    stem.length < 2 ||
    /^(index|main|mod|lib|app|theme|styles?|requirements|package-lock|go|Cargo|yarn|poetry|uv)$/i.test(stem)
  )
    return true
  const tests = testsOfSnapshot(file.path)
  const texts = tests.map(path => unchanged.get(path) ?? files.find(each => each.path === path)?.after ?? '')
  const inTree = files.filter(each => /golden|testdata|snapshot/i.test(each.after ?? '')).map(each => each.after ?? '')
  const words = [file.path, file.after ?? '', ...texts, ...inTree].join('\n').toLowerCase()
  return words.includes(stem.toLowerCase()) || sharesFolder(file.path, code.path)
}

/** A golden file is in a folder of the package that it belongs to. */
function sharesFolder(snapshot: string, code: string): boolean {
  const folder = snapshot.replace(/\/(__snapshots__|snapshots|testdata|golden|goldens|expected|tests?)(\/.*)?$/, '')
  return folder !== snapshot && /(^|\/)(testdata|snapshots)\//.test(snapshot) && code.startsWith(`${folder}/`)
}

function stemOf(path: string): string {
  return nameOf(path).replace(/(\.module)?\.\w+$/, '')
}
