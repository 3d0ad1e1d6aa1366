import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDiff } from '../../../../src/workspace/verify/diff/change.ts'

const joined = (...lines: string[]) => `${lines.join('\n')}\n`

test('texts of both sides and the numbers of lines come out of a diff with whole files', () => {
  const [file] = parseDiff(
    joined(
      'diff --git a/a.ts b/a.ts',
      'index 1..2 100644',
      '--- a/a.ts',
      '+++ b/a.ts',
      '@@ -1,3 +1,3 @@',
      ' one',
      '-two',
      '+2',
      ' three',
    ),
  )
  assert.deepEqual(file, {
    path: 'a.ts',
    status: 'modified',
    kind: 'text',
    oldMode: '100644',
    newMode: '100644',
    before: 'one\ntwo\nthree',
    after: 'one\n2\nthree',
    added: [{ line: 2, text: '2' }],
    removed: [{ line: 2, text: 'two' }],
  })
})

test('a line that looks like the beginning of another file is a line', () => {
  const files = parseDiff(
    joined(
      'diff --git a/a b/a',
      'new file mode 100644',
      '--- /dev/null',
      '+++ b/a',
      '@@ -0,0 +1,2 @@',
      '+diff --git a/x b/x',
      '+++ b/x',
    ),
  )
  assert.deepEqual(
    files.map(({ path, after }) => [path, after]),
    [['a', 'diff --git a/x b/x\n++ b/x']],
  )
})

test('names that git quotes, with blanks and with letters of the world are read', () => {
  const names = ['"a/\\303\\244 \\"x\\".ts" "b/\\303\\244 \\"x\\".ts"', 'a/two words.ts b/two words.ts']
  const files = parseDiff(names.map(name => `diff --git ${name}\nold mode 100644\nnew mode 100755\n`).join(''))
  assert.deepEqual(
    files.map(({ path, newMode }) => [path, newMode]),
    [
      ['ä "x".ts', '100755'],
      ['two words.ts', '100755'],
    ],
  )
})

test('carriage returns and missing ends of lines make no difference', () => {
  const [file] = parseDiff(
    joined(
      'diff --git a/a b/a',
      'index 1..2 100644',
      '--- a/a',
      '+++ b/a',
      '@@ -1 +1 @@',
      '-one\r',
      '\\ No newline at end of file',
      '+two\r',
      '\\ No newline at end of file',
    ),
  )
  assert.deepEqual([file?.before, file?.after], ['one', 'two'])
})

test('what is no diff is nothing', () => {
  assert.deepEqual(parseDiff(''), [])
  assert.deepEqual(parseDiff('warning: something\nelse'), [])
})
