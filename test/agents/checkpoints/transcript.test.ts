import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readTranscriptState } from '../../../src/agents/claude/past-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { claude } from '../claude-adapter.ts'
import { World } from '../conformance/world.ts'

const ID = '6f0e8c1e-0000-4000-8000-000000000001'
const USER = JSON.stringify({ type: 'user', message: { role: 'user', content: 'hi' } })
const RESULT = JSON.stringify({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'did it' }] },
})
const BLOCKS = JSON.stringify({ type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'hi' }] } })
const SAID = JSON.stringify({ type: 'assistant', message: { role: 'assistant', content: [] } })

test('the real Claude Code keeps a conversation where it is looked for, and can go on with what is called intact', async t => {
  const world = await World.open(t, claude, [
    {
      prompt: 'remember',
      steps: [{ say: 'Remembered.' }],
      later: [{ prompt: 'go on', steps: [{ say: 'Went on.' }] }],
    },
  ])
  const talk = await world.talk('remember this task')
  await talk.turn()
  const vendorId = talk.session.vendorId ?? ''
  await talk.close()
  const { env, cwd } = world.options()
  const state = (where = cwd) => world.driver.conversationState?.(vendorId, { cwd: where, env })
  assert.equal(await state(), 'intact')
  assert.equal(await state('/somewhere/else'), 'intact')
  assert.equal(await world.driver.conversationState?.(ID, { cwd, env }), 'missing')

  const projects = join(env['CLAUDE_CONFIG_DIR'] ?? '', 'projects')
  const [folder = ''] = readdirSync(projects)
  const file = join(projects, folder, `${vendorId}.jsonl`)
  assert.equal(dirname(file), join(projects, cwd.replace(/[^a-zA-Z0-9]/g, '-')))
  // The result of a kill in the middle of a write; the vendor's own program goes on with it.
  appendFileSync(file, '{"type":"assistant","mess')
  assert.equal(await state(), 'intact')
  const again = await world.talk('go on', { resume: { vendorId, fork: false } })
  assert.equal((await again.turn()).outcome, 'completed')
  await again.close()
  truncateSync(file, 0)
  assert.equal(await state(), 'damaged')
  rmSync(file)
  assert.equal(await state(), 'missing')
})

test('missing, empty, cut, overwritten and foreign files are told apart', async t => {
  const config = tempDir(t)
  const folder = join(config, 'projects', '-code-my-api')
  const file = join(folder, `${ID}.jsonl`)
  mkdirSync(folder, { recursive: true })
  const state = (change: Partial<Parameters<typeof readTranscriptState>[0]> = {}) =>
    readTranscriptState({ env: { CLAUDE_CONFIG_DIR: config }, cwd: '/code/my api', vendorId: ID, ...change })
  const after = (text: string | Buffer) => {
    writeFileSync(file, text)
    return state()
  }
  assert.equal(await state(), 'missing')
  assert.equal(await state({ env: { CLAUDE_CONFIG_DIR: join(config, 'nowhere') } }), 'missing')
  assert.equal(await state({ vendorId: '../../../etc/passwd' }), 'missing')
  assert.equal(await after(''), 'damaged')
  assert.equal(await after('\n'), 'damaged')
  assert.equal(await after(USER), 'damaged')
  assert.equal(await after(`${SAID}\n`), 'damaged')
  assert.equal(await after(`${USER}\n${SAID.slice(0, 20)}\n`), 'damaged')
  assert.equal(await after(Buffer.alloc(5_000_000)), 'damaged')
  // The file was removed while its agent lived, and written anew by it: it does not contain the task.
  assert.equal(await after(`${RESULT}\n${SAID}\n`), 'damaged')
  assert.equal(await after(`${SAID}\n${USER}\n`), 'damaged')
  assert.equal(await after(`${BLOCKS}\n${SAID}\n${RESULT}\n`), 'intact')
  assert.equal(await after(`${USER}\n`), 'intact')
  assert.equal(await after(`${USER}\n${SAID}\n${SAID.slice(0, 20)}`), 'intact')
  assert.equal(await after(`${USER}\n${JSON.stringify({ type: 'x', data: 'y'.repeat(3_000_000) })}\n`), 'intact')
  assert.equal(await after(`${JSON.stringify({ data: 'y'.repeat(3_000_000) })}\n${USER}\n`), 'intact')
  rmSync(file)
  mkdirSync(file)
  assert.equal(await state(), 'damaged')
})

test('one that was moved to another folder counts, also beside a damaged one, and HOME stands in for the settings folder', async t => {
  const home = tempDir(t)
  const projects = join(home, '.claude', 'projects')
  for (const folder of ['-code-api', '-other']) mkdirSync(join(projects, folder), { recursive: true })
  writeFileSync(join(projects, '-other', `${ID}.jsonl`), `${USER}\n`)
  const state = () => readTranscriptState({ env: { HOME: home }, cwd: '/code/api', vendorId: ID })
  assert.equal(await state(), 'intact')
  writeFileSync(join(projects, '-code-api', `${ID}.jsonl`), '')
  assert.equal(await state(), 'intact')
  renameSync(join(projects, '-other'), join(home, 'away'))
  assert.equal(await state(), 'damaged')
  assert.equal(readFileSync(join(home, 'away', `${ID}.jsonl`), 'utf8'), `${USER}\n`)
})
