import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { test } from 'node:test'
import { mountArgs } from '../../../src/agents/sandbox/mounts.ts'
import { surroundings } from '../../../src/agents/sandbox/surroundings.ts'
import { gitProject, tempDir } from '../../support/world.ts'

test('what is hidden lies over the system, what is shown over that, then what may be written, then what may not, and last what may again', () => {
  const args = mountArgs({
    ...{ hidden: ['/home/me'], shown: ['/home/me/bin'], writable: ['/p/.git', '/p'], kept: ['/p/.git/hooks'] },
    regained: ['/p/.git/hooks/mine'],
  }).join(' ')
  assert.match(
    args,
    /^--ro-bind \/ \/ .*--tmpfs \/tmp .*--tmpfs \/run --tmpfs \/home\/me --ro-bind \/home\/me\/bin \S+ --bind \/p \/p --bind \/p\/\.git \S+ --ro-bind \/p\/\.git\/hooks \S+ --bind \/p\/\.git\/hooks\/mine \S+$/,
  )
})

test('the home of the agent, that of the daemon and what the settings name are hidden', t => {
  const [home, named] = [tempDir(t), tempDir(t)]
  const inside = { cwd: gitProject(t), env: { HOME: home }, command: 'sh', args: [], shows: [], writes: [] }
  const asked = { mode: 'auto' as const, network: [], read: [], write: [], hidden: [named] }
  const { hidden, shown, writable } = surroundings(inside, {
    ...{ asked, needs: { state: ['.mine'], hosts: [], addresses: [] }, reading: false },
  })
  for (const path of [home, homedir(), named]) assert.ok(hidden.includes(path), path)
  assert.ok(![...shown, ...writable].some(path => [home, homedir(), named].includes(path)))
  assert.ok(writable.includes(`${home}/.mine`))
})
