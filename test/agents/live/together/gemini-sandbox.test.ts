import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findGitFolder } from '../../../../src/workspace/git/git-folder.ts'
import { gemini } from '../../adapters/gemini.ts'
import { World } from '../../conformance/world.ts'
import { bubblewrap } from '../../sandbox/a-sandbox.ts'
import { refusedHere } from '../../sandbox/refused-here.ts'

test('the real Gemini CLI works in a sandbox: it writes the project, reads no secret of the home, and reaches its vendor only', async t => {
  if (!('program' in bubblewrap)) return refusedHere(t)
  const outside = '/var/pcc-sandbox-probe'
  const line = `cat "$HOME/.ssh/id" > seen.txt 2>&1; touch ${outside}; git add -A; git -c user.name=T -c user.email=t@example.invalid commit -qm work; true`
  const steps = [{ calls: [{ write: 'note.txt', content: 'hello' }] }, { calls: [{ run: line }] }, { say: 'Done.' }]
  const world = await World.open(t, gemini, [{ prompt: 'in the sandbox', steps }])
  mkdirSync(join(world.home, '.ssh'))
  writeFileSync(join(world.home, '.ssh/id'), 'the secret')
  const git = await findGitFolder(world.cwd)
  const sandbox = { mode: 'required' as const, made: bubblewrap, network: [], read: [], write: [], hidden: [], git }
  const talk = await world.talk('work in the sandbox', { sandbox })
  const ended = await talk.turn()
  assert.equal(ended.outcome, 'completed', JSON.stringify(ended))
  assert.equal(world.read('note.txt'), 'hello')
  assert.match(world.read('seen.txt'), /No such file/)
  assert.equal(existsSync(outside), false)
})
