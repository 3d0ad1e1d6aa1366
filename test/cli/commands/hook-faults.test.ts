import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { before, decisionOf, playVendor, type VendorCall } from './play-vendor.ts'

const HIGH = 'git push --force origin main'

function openPlaces(t: TestContext, files: Record<string, string> = {}) {
  const home = realpathSync(tempDir(t))
  const project = realpathSync(gitProject(t, { 'README.md': '# sample\n', ...files }))
  const paths = appPathsFor({ env: { HOME: home, PCC_HOME: join(home, 'pcc') } })
  const outbox = () => readFileSync(join(paths.data, 'hook-outbox/current.jsonl'), 'utf8')
  return { home, project, paths, outbox }
}

const event = (home: string, native: string, body: object): VendorCall => ({
  args: ['hook', 'claude', native, '--home', join(home, 'pcc')],
  input: JSON.stringify({ session_id: 's-1', transcript_path: '', hook_event_name: native, ...body }),
})

test('large input, unknown events and tools, and other versions of the vendor never allow a call by accident', async t => {
  const { home, project } = openPlaces(t)
  const write = { tool_name: 'Write', tool_input: { file_path: join(project, 'big.txt'), content: 'FILL' } }
  const calls: VendorCall[] = [
    { ...before(home, project, '', write), fill: 1_000_000 },
    { ...before(home, project, '', write), fill: 100_000_000 },
    event(home, 'SomethingNew', { cwd: project }),
    before(home, project, '', { tool_name: 'Teleport', tool_input: { to: '/' } }),
    before(home, project, '', { tool_name: 'Bash', tool_input: { script: HIGH } }),
    // An older version lacks fields, and a newer one has more.
    event(home, 'PreToolUse', { cwd: project, tool_name: 'Bash', tool_input: { command: HIGH } }),
    before(home, project, 'ls', {
      tool_input: { command: 'ls', later: [1] },
      later: { a: 1 },
      permission_mode: 'newest',
    }),
    before(home, project, 'ls', { cwd: 7 }),
    before(home, project, 'ls', { hook_event_name: 'PostToolUse' }),
  ]
  const [big, huge, unknown, ...others] = await playVendor(home, project, calls)
  assert.equal(decisionOf(big), 'allow', JSON.stringify(big))
  assert.deepEqual([huge?.code, huge?.out], [2, ''])
  assert.match(huge?.err ?? '', /too large/)
  assert.deepEqual(unknown, { code: 0, out: '', err: '' })
  const said = others.map(ended => (ended.code === 2 ? 'refused' : decisionOf(ended)))
  assert.deepEqual(said, ['ask', 'ask', 'deny', 'allow', 'refused', 'refused'])
})

test('two hooks at once are both answered and both kept, also if nothing can be kept, and rules of a project that nobody trusts allow nothing', async t => {
  const rules = `[[rules]]\neffect = "allow"\ntool = "Bash"\nmatch = "${HIGH}"\n`
  const { home, project, paths, outbox } = openPlaces(t, { '.perpetualcc/rules.toml': rules })
  const calls = [before(home, project, 'ls'), before(home, project, HIGH), before(home, project, 'ls')]
  const said = (await playVendor(home, project, calls, { together: true })).map(decisionOf)
  assert.deepEqual(said, ['allow', 'deny', 'allow'])
  assert.equal(outbox().match(/"call_decided"/g)?.length, 3)

  // A full or broken disk takes the record, never the verdict.
  rmSync(join(paths.data, 'hook-outbox'), { recursive: true })
  writeFileSync(join(paths.data, 'hook-outbox'), '')
  const unrecorded = await playVendor(home, project, calls.slice(0, 2))
  assert.deepEqual(unrecorded.map(decisionOf), ['allow', 'deny'])
})

test('a daemon that dies in the middle, or says nothing, is replaced by the hook itself', async t => {
  const { home, project, paths, outbox } = openPlaces(t)
  mkdirSync(dirname(paths.socket), { recursive: true })
  writeFileSync(paths.tokenFile, 'x'.repeat(40), { mode: 0o600 })
  const asked: string[] = []
  const open: Socket[] = []
  const server = createServer(socket => {
    open.push(socket)
    socket.on('error', () => {})
    socket.once('data', text => {
      const isCall = String(text).includes('PreToolUse')
      asked.push(isCall ? 'call' : 'end')
      if (isCall) socket.write('HTTP/1.1 200 OK\r\nContent-Len', () => socket.destroy())
    })
  }).listen(paths.socket)
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const end = event(home, 'SessionEnd', { cwd: project, reason: 'other' })
  const [high, everyday, ended] = await playVendor(home, project, [
    before(home, project, HIGH),
    before(home, project, 'ls'),
    end,
  ])
  assert.deepEqual([decisionOf(high), decisionOf(everyday)], ['deny', 'allow'])
  assert.deepEqual(ended, { code: 0, out: '', err: '' })
  assert.deepEqual(asked, ['call', 'call', 'end'])
  assert.match(outbox(), /"session_complete"/, 'what nobody heard is kept')
})
