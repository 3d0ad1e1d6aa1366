import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashPath, lookAtPath, measurePath } from '../../../src/policy/paths/look.ts'
import { tempDir } from '../../support/world.ts'

// Code of an agent exchanges a file for a link to one that the agent cannot read, between the moment in which its place was found and
// the moment in which it is read. Whatever was read would be quoted in the reason of a refusal.
test('a link that has taken the place of a file or a folder is not followed, and what is there is read as before', t => {
  const top = realpathSync(tempDir(t))
  const at = (name: string) => join(top, name)
  mkdirSync(at('home'))
  writeFileSync(at('home/.npmrc'), '//packages.example/:_authToken=npm_0000\n')
  mkdirSync(at('project'))
  writeFileSync(at('project/s.sh'), 'echo hello\n')
  assert.equal(String(bytesAt(at('project/s.sh'))), 'echo hello\n')
  assert.equal(measurePath(at('project/s.sh'), 1000), 'small')
  assert.deepEqual(lookAtPath(at('project')), { is: 'folder', names: ['s.sh'] })

  symlinkSync(at('home/.npmrc'), at('project/t.sh'))
  symlinkSync(at('home'), at('project/lib'))
  for (const name of ['project/t.sh', 'project/lib', 'project/lib/.npmrc'])
    assert.equal(lookAtPath(at(name)), undefined)
  assert.equal(measurePath(at('project/t.sh'), 1000), 'none')
  assert.notDeepEqual(measurePath(at('project/lib/.npmrc'), 10), 'small')
  // The way to a file counts as read, and only its hash is kept.
  assert.equal(hashPath(at('project/t.sh')), hashPath(at('home/.npmrc')))
})

function bytesAt(path: string): Buffer | undefined {
  const found = lookAtPath(path)
  return found?.is === 'file' ? found.bytes : undefined
}
