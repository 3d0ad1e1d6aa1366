import assert from 'node:assert/strict'
import { test } from 'node:test'
import { graphLines } from '../../../../src/cli/commands/code/graph.ts'
import { indexLines, progressBar } from '../../../../src/cli/commands/code/index-code.ts'
import {
  describeState,
  fitQuery,
  highlighter,
  pickLines,
  searchLines,
} from '../../../../src/cli/commands/code/search.ts'
import { terminalOf } from '../../../../src/cli/render/text.ts'

const plain = terminalOf({}, {})
const STATE = { project: '/p', commit: 'abcdef0123', dirty_files: 1, stale: false }

test('the lines with the most words of the query are shown, and words are marked inside of names', () => {
  const marks = highlighter('How are failed merges retried?', {
    ...plain,
    paint: (_, text) => `<${text}>`,
  })
  assert.equal(marks.paint('retryMerge(failedMerges)'), 'retry<Merge>(<fail>ed<Merge>s)')
  const text = ['a', 'b', 'c', 'd', 'e', 'f', 'merge', 'failed merge', 'i', 'j'].join('\n')
  assert.deepEqual(
    pickLines(text, marks).map(({ at }) => at),
    [2, 3, 4, 5, 6, 7],
  )
  assert.equal(pickLines('one\ntwo\n\n', marks).length, 2)
})

test('what a file name or its code could do to a terminal is not printed', () => {
  const metadata = { language: 'text', header: '', definition: 'x\x1b[2J' }
  const result = {
    score: 1,
    file_path: 'a\x1b[2J\nb',
    start_line: 1,
    end_line: 1,
    chunk_text: '\x1b]0;t\x07x',
    metadata,
  }
  const lines = searchLines({ ...STATE, results: [result] }, 'x', plain)
  assert.doesNotMatch(lines.join(''), /[\x00-\x1f]/)
})

test('a query that does not fit into an address is cut, in whole characters', () => {
  assert.deepEqual(fitQuery('short'), { text: 'short', isCut: false })
  const { text, isCut } = fitQuery('猫😀'.repeat(20_000))
  assert.ok(isCut && text.isWellFormed() && encodeURIComponent(text).length < 12_000 && text.length > 500)
})

test('the state of the index is said in words', () => {
  assert.equal(describeState(STATE), 'Index of commit abcdef01, 1 file changed since')
  assert.equal(
    describeState({ commit: null, dirty_files: 3, stale: true }),
    'Index of the files as they are; it is still being brought up to date',
  )
  assert.equal(progressBar({ done: 5, total: 10 }), `Indexing ${'█'.repeat(15)}${'░'.repeat(15)} 5/10 files`)
  const problems = Array.from({ length: 7 }, (_, at) => ({ path: `${at}.c`, problem: 'the parser failed on it' }))
  const indexed = {
    ...STATE,
    files: 7,
    read: 0,
    removed: 2,
    modules: 1,
    functions: 1,
    chunks: 9,
    embedded: 0,
    problems,
  }
  assert.deepEqual(indexLines(indexed, plain).slice(0, 4), [
    '✓ Scanned the project: 7 files, 2 removed',
    '✓ Built the code graph: 1 module, 1 function',
    '✓ Indexed the code: 9 chunks',
    '! 0.c is found by its lines only: the parser failed on it',
  ])
  assert.equal(indexLines(indexed, plain).at(-1), '  and 2 more files that could not be parsed')
})

test('a circle in the graph ends', () => {
  const file = (path: string) => ({ id: path, kind: 'file' as const, name: path, path })
  const edges = [
    { from: 'a', to: 'b', kind: 'imports' as const },
    { from: 'b', to: 'a', kind: 'imports' as const },
  ]
  const found = { ...STATE, start: ['a'], nodes: [file('a'), file('b')], edges, isCut: true, note: 'n' }
  assert.deepEqual(graphLines(found, plain), [
    'a',
    '  imports, imported by b',
    '',
    'There is more: ask about one of these, or with a smaller --depth.',
    'Index of commit abcdef01, 1 file changed since (n)',
  ])
})

test('a graph is a tree in which every connection is on one line, and a definition of the same file has no path', () => {
  const file = (path: string) => ({ id: path, kind: 'file' as const, name: path, path })
  const run = { id: 'a.ts#run', kind: 'function' as const, name: 'run', path: 'a.ts', line: 3 }
  const edges = [
    { from: 'a.ts', to: 'b.ts', kind: 'imports' as const },
    { from: 'a.ts', to: 'a.ts#run', kind: 'defines' as const },
    { from: 'b.ts', to: 'a.ts', kind: 'changed with' as const },
    { from: 'b.ts', to: 'a.ts#run', kind: 'calls' as const },
  ]
  const found = { start: ['a.ts'], nodes: [file('a.ts'), file('b.ts'), run], edges, isCut: false, note: 'a note' }
  assert.deepEqual(graphLines({ ...STATE, ...found }, plain), [
    'a.ts',
    '  imports, changed with b.ts',
    '    calls run function, a.ts:3',
    '  defines run function, line 3',
    '',
    'Index of commit abcdef01, 1 file changed since (a note)',
  ])
})
