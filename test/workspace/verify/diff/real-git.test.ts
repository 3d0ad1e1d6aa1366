import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runInThisProcess, setShortRunner } from '../../../../src/base/process/run-short.ts'
import { diffFindings } from '../../../../src/workspace/verify/diff/diff-findings.ts'
import type { JudgeJob } from '../../../../src/workspace/verify/diff/judge-apart.ts'
import { judgeChange } from '../../../../src/workspace/verify/diff/judge-change.ts'
import { repository, type Tree } from './repository.ts'

const SETTINGS = { maxChangedLines: 0, forbiddenPaths: [], allow: [] }

/** Judges in this thread, where coverage sees the rules. */
const judge = async ({ change, settings }: JudgeJob) => judgeChange(change, settings)

async function between(t: TestContext, before: Tree, after: Tree) {
  const repo = repository(t)
  const base = repo.commit({ 'README.md': 'a\n', ...before })
  const head = repo.commit(after)
  return diffFindings({ directory: repo.directory, base, head, settings: SETTINGS, judge })
}

const brief = (findings: { code: string; weight: string; file?: string | undefined }[]) =>
  findings.map(({ code, weight, file }) => `${weight} ${code} ${file}`)

const TEST = "import { test } from 'node:test'\ntest('adds', () => {\n  assert.equal(add(1, 2), 3)\n})\n"

test('attributes that call a test binary do not hide what was done to it', async t => {
  const skipped = TEST.replace("test('adds'", "test.skip('adds'")
  const after = { '.gitattributes': '*.ts binary -diff\n', 'test/a.test.ts': skipped }
  assert.deepEqual(brief(await between(t, { 'test/a.test.ts': TEST }, after)), ['block test.skipped test/a.test.ts'])
})

test('what skips a test is said, in every language', async t => {
  const before = {
    'a.test.ts': TEST,
    'test_a.py': 'def test_adds():\n    assert add(1, 2) == 3\n',
    'a_test.go': 'func TestAdds(t *testing.T) {\n\tassert.Equal(t, 3, Add(1, 2))\n}\n',
    'tests/a.rs': '#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n',
  }
  const after = {
    'a.test.ts': TEST.replace("test('adds'", "test.skip('adds'"),
    'test_a.py': `@pytest.mark.skip\n${before['test_a.py']}`,
    'a_test.go': before['a_test.go'].replace('\tassert', '\tt.SkipNow()\n\tassert'),
    'tests/a.rs': before['tests/a.rs'].replace('fn', '#[ignore]\nfn'),
  }
  const texts = (await between(t, before, after)).map(({ text }) => text)
  assert.deepEqual(texts, [
    'The test "adds" ran and is skipped now (.skip): let it run.',
    'The test "TestAdds" ran and is skipped now (t.SkipNow()): let it run.',
    'The test "test_adds" ran and is skipped now (@pytest.mark.skip): let it run.',
    'The test "adds" ran and is skipped now (#[ignore]): let it run.',
  ])
})

test('lines that end otherwise are the same lines', async t => {
  assert.deepEqual(
    await between(t, { 'test/a.test.ts': TEST }, { 'test/a.test.ts': TEST.replaceAll('\n', '\r\n') }),
    [],
  )
})

test('a change is read with one call of git', async t => {
  let calls = 0
  using _counted = setShortRunner((run, signal) => {
    calls += 1
    return runInThisProcess(run, signal)
  })
  assert.deepEqual(await between(t, { 'test/a.test.ts': TEST }, { 'src/a.ts': 'export const a = 1\n' }), [])
  assert.equal(calls, 1)
})

test('a test that moves with its file is the same test', async t => {
  const after = { 'test/a.test.ts': null, 'test/deep/ä b.test.ts': TEST }
  assert.deepEqual(await between(t, { 'test/a.test.ts': TEST }, after), [])
})

test('programs and archives are refused, pictures are told, and nobody reads either', async t => {
  const bytes = Buffer.from([0, 1, 2, 3, 255, 0])
  const after = { 'assets/logo.png': bytes, 'tool.bin': bytes, 'test/fixtures/a.zip': bytes }
  assert.deepEqual(brief(await between(t, {}, after)), [
    'block diff.binary tool.bin',
    'note diff.binary assets/logo.png',
    'note diff.binary test/fixtures/a.zip',
  ])
})

test('a program that asks whether it is being tested is refused, and one that looks at NODE_ENV is told', async t => {
  const after = {
    'src/a.ts': "if (process.env['VITEST'] !== undefined) send = () => {}\n",
    'src/b.ts': "if (process.env.NODE_ENV === 'test') log = () => {}\n",
  }
  assert.deepEqual(brief(await between(t, {}, after)), [
    'block code.knows-tests src/a.ts',
    'note code.knows-tests src/b.ts',
  ])
})

test('links, modes and submodules are told', async t => {
  const repo = repository(t)
  const base = repo.commit({ 'run.txt': 'a\n' })
  chmodSync(join(repo.directory, 'run.txt'), 0o755)
  repo.git('update-index', '--add', '--cacheinfo', `160000,${base},lib/other`)
  mkdirSync(join(repo.directory, 'lib/other'), { recursive: true })
  repo.git('add', 'run.txt')
  const head = repo.commit({ here: { link: '../elsewhere' } })
  const found = await diffFindings({ directory: repo.directory, base, head, settings: SETTINGS })
  assert.deepEqual(brief(found).sort(), [
    'block diff.link here',
    'block diff.nested lib/other',
    'note diff.mode run.txt',
  ])
  repo.git('update-index', '--cacheinfo', `160000,${head},lib/other`)
  repo.git('commit', '-qm', 'another commit of the submodule')
  const [moved, of] = [repo.git('rev-parse', 'HEAD').trim(), { directory: repo.directory, settings: SETTINGS }]
  assert.deepEqual(brief(await diffFindings({ ...of, base: head, head: moved })), ['review diff.submodule lib/other'])
})

test('conflicts that were left, and a heading that was not', async t => {
  const after = { 'src/a.ts': '<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n', 'docs/a.md': 'Title\n=======\n' }
  assert.deepEqual(brief(await between(t, {}, after)), ['block diff.merge-marker src/a.ts'])
})

test('a file that is too large to be read whole is read in part, and its tests are not guessed at', async t => {
  const line = 'x'.repeat(200)
  const big = `${line}\n`.repeat(100_000)
  const found = await between(
    t,
    { 'data/big.csv': big, 'src/a.ts': 'a\n' },
    { 'data/big.csv': `${big}<<<<<<< mine\n`, 'src/a.ts': 'b\n' },
  )
  assert.deepEqual(brief(found), ['block diff.merge-marker data/big.csv'])
})

test('from a folder of the repository the whole change is seen', async t => {
  const repo = repository(t)
  const base = repo.commit({ 'packages/web/a.ts': 'a\n', 'packages/api/test/a.test.ts': TEST })
  const head = repo.commit({ 'packages/api/test/a.test.ts': null })
  const found = await diffFindings({ directory: join(repo.directory, 'packages/web'), base, head, settings: SETTINGS })
  assert.deepEqual(brief(found), ['block test.deleted packages/api/test/a.test.ts'])
})

test('what git cannot show is nobody’s success', async t => {
  const { directory, commit } = repository(t)
  const base = commit({ a: 'a' })
  const [finding] = await diffFindings({ directory, base, head: 'nowhere', settings: SETTINGS })
  assert.deepEqual([finding?.code, finding?.weight], ['diff.unread', 'block'])
})

test('no change is told as such', async t => {
  assert.deepEqual(
    (await between(t, {}, {})).map(({ code, weight }) => [code, weight]),
    [['diff.empty', 'note']],
  )
})

test('files that git writes in another encoding than they are stored in are found, because nobody reviews what runs', async t => {
  const before = { '.gitattributes': '*.js text\n', 'a.js': 'a\n' }
  const found = await between(t, before, { '.gitattributes': '*.js text working-tree-encoding=UTF-7\n', 'a.js': 'b\n' })
  assert.deepEqual(brief(found), ['block diff.encoding .gitattributes'])
  const macro = { 'lib/.gitattributes': '[attr]other working-tree-encoding=EBCDIC-US\n' }
  assert.deepEqual(brief(await between(t, before, macro)), ['block diff.encoding lib/.gitattributes'])
  assert.deepEqual(await between(t, before, { '.gitattributes': '*.js text\n*.sh eol=lf\n' }), [])
})
