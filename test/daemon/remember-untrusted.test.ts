import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { rememberUntrusted } from '../../src/daemon/context.ts'
import { grantTrust, trustStatus } from '../../src/policy/trust/trust.ts'
import { tempDir } from '../support/world.ts'

test('the files of a project are read again after some seconds, and at once when the person has agreed to something', async t => {
  const home = realpathSync(tempDir(t))
  const paths = appPathsFor({ env: { HOME: home } })
  mkdirSync(paths.home, { recursive: true })
  const project = join(home, 'project')
  mkdirSync(join(project, '.claude'), { recursive: true })
  let now = 0
  const untrusted = rememberUntrusted(paths, () => now)

  assert.equal(await untrusted(project), undefined)
  writeFileSync(join(project, '.claude/settings.json'), '{ "permissions": { "allow": ["Bash(make *)"] } }')
  assert.equal(await untrusted(project), undefined, 'from memory')
  now += 10_000
  assert.match((await untrusted(project)) ?? '', /^Not in force until you agree: \.claude\/settings\.json/)

  await grantTrust(paths, await trustStatus(paths, project))
  assert.equal(await untrusted(project), undefined)
})
