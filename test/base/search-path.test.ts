import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { secretId } from '../../src/base/ids.ts'
import { findProgram } from '../../src/base/process/find-program.ts'
import { spawnGuarded } from '../../src/base/process/guardian.ts'
import { runInThisProcess, runShortSync } from '../../src/base/process/run-short.ts'
import { foldersOf, pathOutsideProjects, withWholePath } from '../../src/base/search-path.ts'
import { tempDir } from '../support/world.ts'

/** PATHs by which a shell in an untrusted repository would find the repository's own `git`. */
const PLANTED = ['./node_modules/.bin:/usr/bin:/bin', 'node_modules/.bin:/usr/bin:/bin', '.:/usr/bin:/bin']
const EMPTY = [':/usr/bin:/bin', '/nowhere::/usr/bin:/bin', '']

/** A repository with a `git` of its own, at its top and among its modules. */
function repository(t: TestContext): string {
  const cwd = tempDir(t)
  for (const folder of [cwd, join(cwd, 'node_modules/.bin')]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho planted\n', { mode: 0o755 })
  }
  return cwd
}

test('relative and empty entries of a PATH do not count, and a PATH of nothing else is the usual one', () => {
  assert.deepEqual(foldersOf('bin:/a::.:/b:../c:~/d'), ['/a', '/b'])
  assert.deepEqual(foldersOf('./node_modules/.bin'), ['/usr/local/bin', '/usr/bin', '/bin'])
  assert.deepEqual(withWholePath({ PATH: '', HOME: '/h' }), { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/h' })
  assert.deepEqual(withWholePath({ HOME: '/h' }), { HOME: '/h' })
})

for (const path of [...PLANTED, ...EMPTY]) {
  const named = `with the PATH ${JSON.stringify(path)}`

  test(`no short program is taken from the repository that it works in, ${named}`, async t => {
    const run = { args: ['--version'], cwd: repository(t), env: { PATH: path }, timeoutMs: 20_000, maxBytes: 10_000 }
    assert.match((await runInThisProcess({ ...run, command: 'git' })).stdout, /^git version/)
    assert.match(runShortSync({ ...run, command: 'git' }).stdout, /^git version/)
    const viaShell = { ...run, command: '/bin/sh', args: ['-c', 'git --version'] }
    assert.match((await runInThisProcess(viaShell)).stdout, /^git version/)
    assert.doesNotMatch(findProgram('git', { PATH: path }, run.cwd) ?? '', /node_modules|^\/tmp/)
  })

  test(`neither an agent nor what it starts is taken from there, ${named}`, async t => {
    const marker = { name: 'PCC_TEST_MARK', value: secretId(12) }
    await using child = spawnGuarded({
      ...{ command: '/bin/sh', args: ['-c', 'git --version'], cwd: repository(t), env: { PATH: path } },
      ...{ marker, isolation: 'marker' },
    })
    child.stdin.end()
    assert.match((await child.stdout.toArray()).join(''), /^git version/)
  })
}

test('what pcc runs for itself is not taken from a folder of a project', t => {
  const home = tempDir(t)
  const [project, venv] = [join(home, 'project'), join(home, 'venv')]
  for (const folder of [join(project, 'bin'), join(venv, 'bin')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(venv, 'pyvenv.cfg'), '')
  symlinkSync(join(project, 'bin'), join(home, 'link'))
  const path = [
    `${project}/bin`,
    `${home}/link`,
    `${venv}/bin`,
    `${home}/other/node_modules/.bin`,
    `${project}-2/bin`,
    '/usr/bin',
  ]
  assert.equal(pathOutsideProjects(path.join(':'), [project]), `${project}-2/bin:/usr/bin`)
  assert.equal(pathOutsideProjects(`${project}/bin`, [project]), '/usr/local/bin:/usr/bin:/bin')
})
