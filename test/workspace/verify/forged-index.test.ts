import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { openVerifyFixture, type VerifyFixture } from './worktree-fixture.ts'

/** Writes a file and an index by which git takes it for unchanged: the size and the times of the new file, and the id of the old one. */
function forge(work: VerifyFixture, path: string, text: string): void {
  const right = work.git('rev-parse', `HEAD:${path}`)
  work.write(path, text)
  utimesSync(join(work.worktree.top, path), 1e9, 1e9)
  work.git('add', path)
  const file = work.git('rev-parse', '--path-format=absolute', '--git-path', 'index')
  const index = readFileSync(file)
  const at = index.indexOf(Buffer.from(work.git('hash-object', path), 'hex'))
  Buffer.from(right, 'hex').copy(index, at)
  createHash('sha1')
    .update(index.subarray(0, -20))
    .digest()
    .copy(index, index.length - 20)
  writeFileSync(file, index)
}

test('a test that the index says is unchanged is committed as it is on disk, because every file is hashed', async t => {
  const work = await openVerifyFixture(t, { 'check.sh': 'exit 1\n', 'a.txt': 'a\n' })
  work.write('a.txt', 'backdoor\n')
  forge(work, 'check.sh', 'exit 0\n')
  assert.equal(work.git('status', '--short', '--', 'check.sh'), '', 'git believes the index')
  const result = await verify(work.request({}, { commands: { test: 'sh check.sh' } }), work.deps())
  assert.equal(
    work.git('show', `${result.commit}:check.sh`),
    'exit 0',
    'what the gates saw is what is judged and merged',
  )
})

test('a gate that changes a test and makes the index hide it is found out', async t => {
  const work = await openVerifyFixture(t, { 'check.sh': 'exit 1\n', 'a.txt': 'a\n' })
  const index = work.git('rev-parse', '--path-format=absolute', '--git-path', 'index')
  work.write('a.txt', 'backdoor\n')
  const kept = join(work.worktree.top, '..', 'forged')
  const build = `printf 'exit 0\\n' > check.sh && touch -d @1000000000 check.sh && git add check.sh && node -e '${PATCH}' ${index} ${kept}`
  const result = await verify(work.request({}, { commands: { build, test: 'sh check.sh' } }), work.deps())
  assert.equal(readFileSync(kept, 'utf8'), 'forged')
  assert.equal(result.status, 'failed')
  assert.ok(
    result.findings.some(({ code }) => code === 'gate.changed_files'),
    JSON.stringify(result.findings),
  )
})

const PATCH = `
const fs = require("node:fs"), cp = require("node:child_process"), crypto = require("node:crypto")
const git = (...a) => cp.execFileSync("git", a, { encoding: "utf8" }).trim()
const [file, kept] = process.argv.slice(1)
const index = fs.readFileSync(file)
Buffer.from(git("rev-parse", "HEAD:check.sh"), "hex").copy(index, index.indexOf(Buffer.from(git("hash-object", "check.sh"), "hex")))
crypto.createHash("sha1").update(index.subarray(0, -20)).digest().copy(index, index.length - 20)
fs.writeFileSync(file, index)
fs.writeFileSync(kept, "forged")
`

test('in a sparse checkout, a test that is marked as left out and taken away is back for the gates', async t => {
  const work = await openVerifyFixture(t, { 'in/check.sh': 'exit 1\n', 'out/b.txt': 'b\n', 'a.txt': 'a\n' })
  work.git('sparse-checkout', 'set', 'in')
  const { noteSharedFiles } = await import('../../../src/workspace/worktrees/worktree-note.ts')
  await noteSharedFiles({ top: work.worktree.top, repository: join(work.worktree.top, '../repository/.git') }, [])
  work.git('update-index', '--skip-worktree', 'in/check.sh')
  rmSync(join(work.worktree.top, 'in/check.sh'))
  work.write('a.txt', 'backdoor\n')
  const test = 'if test -e in/check.sh; then sh in/check.sh; fi'
  const result = await verify(work.request({}, { commands: { test } }), work.deps())
  assert.equal(result.status, 'failed')
  assert.equal(work.git('show', `${result.commit}:out/b.txt`), 'b', 'what the person left out is not deleted')
})

test('what was added by force or taken out of the index stays so, although the index is not believed', async t => {
  const work = await openVerifyFixture(t, { '.gitignore': 'dist\n', 'a.txt': 'a\n' })
  work.write('dist/old.js', 'old\n')
  work.git('add', '-f', 'dist/old.js')
  work.git('commit', '-qm', 'with an ignored file')
  work.write('dist/x.js', 'x\n')
  work.git('add', '-f', 'dist/x.js')
  work.git('rm', '-q', '--cached', 'dist/old.js')
  const result = await verify(work.request({}, { commands: { test: 'true' } }), work.deps())
  assert.equal(work.git('ls-tree', '-r', '--name-only', result.commit ?? ''), '.gitignore\na.txt\ndist/x.js')
  assert.equal(work.git('status', '--short'), '')
})

/** Puts the weakened test under the id that the base has for its own, as code of an agent can. */
const EXCHANGE = `const { execFileSync } = require('node:child_process')
const { rmSync, writeFileSync } = require('node:fs')
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim()
const id = git('rev-parse', 'main:test.js')
const file = git('rev-parse', '--path-format=absolute', '--git-path', 'objects/' + id.slice(0, 2) + '/' + id.slice(2))
rmSync(file)
writeFileSync(file, require('node:zlib').deflateSync('blob 3\\0;;\\n'))
`

test('what an agent puts under the id of an earlier check is found, and what a gate puts there is not read', async t => {
  const weaken = ({ write }: VerifyFixture) => {
    write('test.js', ';;\n')
    write('sum.js', 'module.exports = (a, b) => a - b\n')
  }
  const fixture = await openVerifyFixture(t, {
    'sum.js': 'module.exports = (a, b) => a + b\n',
    'test.js': "require('node:assert').equal(require('./sum.js')(1, 2), 3)\n",
    'x.js': EXCHANGE,
  })
  const check = async (commands: Record<string, string>) => {
    const result = await verify(fixture.request({}, { commands, verifier: 'off' }), fixture.deps())
    return [result.status, ...result.findings.filter(({ weight }) => weight !== 'note').map(({ code }) => code)]
  }
  weaken(fixture)
  assert.deepEqual(await check({ build: 'node x.js', test: 'node test.js' }), ['passed', 'checks.changed'])
  rmSync(join(fixture.worktree.top, '../run'), { recursive: true })
  assert.deepEqual(await check({ test: 'node test.js' }), ['broken', 'git.forged'])
})

/** A name with a byte that is no UTF-8. */
const odd = (top: string) => Buffer.concat([Buffer.from(`${top}/check`), Buffer.of(0xff), Buffer.from('.sh')])
const SHOW = 'cat check?.sh 2>/dev/null || cat check*'

test('a tracked file whose name is not UTF-8 stays in the commit as the gates see it, whatever the index says', async t => {
  const work = await openVerifyFixture(t, { 'a.txt': 'a\n' })
  const file = odd(work.worktree.top)
  writeFileSync(file, 'echo base\n')
  work.git('add', '-A')
  work.git('commit', '-qm', 'with an odd name')
  const worktree = { ...work.worktree, base: work.git('rev-parse', 'HEAD') }
  work.write('a.txt', 'b\n')
  const honest = await verify(work.request({ worktree }, { commands: { test: SHOW } }), work.deps())
  assert.equal(honest.status, 'passed', JSON.stringify(honest.findings))
  assert.equal(work.git('diff', '--name-only', worktree.base, honest.commit ?? ''), 'a.txt', 'nothing was deleted')
  writeFileSync(file, 'echo other\n')
  const changed = await verify(work.request({ worktree, round: 2 }, { commands: { test: SHOW } }), work.deps())
  assert.match(work.git('diff', worktree.base, changed.commit ?? ''), /^\+echo other$/m)
  assert.equal(changed.status, 'failed')
  assert.match(
    changed.findings.map(({ text }) => text).join(),
    /The name of check\ufffd\.sh is not UTF-8: give it another name/,
  )
})

test('a new file whose name is not UTF-8 is committed and sent back, because gates would see what nobody reviews', async t => {
  const work = await openVerifyFixture(t)
  writeFileSync(odd(work.worktree.top), 'exit 0\n')
  const result = await verify(work.request({}, { commands: { test: 'true' } }), work.deps())
  assert.equal(work.git('ls-tree', '-r', '--name-only', result.commit ?? ''), 'a.txt\n"check\\377.sh"')
  assert.deepEqual([result.status, result.findings.map(({ code }) => code)], ['failed', ['diff.name']])
})
