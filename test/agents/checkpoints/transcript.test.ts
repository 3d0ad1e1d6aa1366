import assert from 'node:assert/strict'
import {
  appendFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { noteLeaf, readTranscriptState } from '../../../src/agents/claude/past-sessions.ts'
import { tempDir } from '../../support/world.ts'
import { claude } from '../claude-adapter.ts'
import { asking, until, World } from '../conformance/world.ts'

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

test('an agent that is killed after it went on with a parked call still knows what it did since', async t => {
  const world = await World.open(t, claude, [
    {
      prompt: 'careful',
      steps: [
        { calls: [{ run: 'echo parked' }] },
        { calls: [{ run: 'echo since then' }] },
        { calls: [{ run: 'touch begun; sleep 300' }] },
      ],
      later: [{ prompt: 'go on', steps: [{ say: 'Went on.' }] }],
    },
  ])
  const parked = await world.talk('careful', { asks: asking(() => ({ park: true, reason: 'nobody is awake' })) })
  assert.equal((await parked.turn()).outcome, 'parked')
  const resume = { vendorId: parked.session.vendorId ?? '', fork: false }
  await parked.close()
  const approved = await world.talk(undefined, { resume })
  await until(() => world.has('begun'))
  const { env } = world.options()
  const [file = ''] = globSync(join(env['CLAUDE_CONFIG_DIR'] ?? '', 'projects', '*', `${resume.vendorId}.jsonl`))
  await until(() => readFileSync(file, 'utf8').includes('sleep 300'))
  process.kill(-(approved.session.pid ?? assert.fail('it runs')), 'SIGKILL')
  await approved.close()

  await world.model.restart()
  const again = await world.talk('go on', { resume })
  assert.equal((await again.turn()).outcome, 'completed')
  assert.match(world.model.told(), /interrupted/, 'the newest call is the one that the kill cut off')
  await again.close()
})

test('the leaf of a transcript is noted again only where what follows does not hang on it, and never through a link', async t => {
  const config = tempDir(t)
  const file = join(config, 'projects', '-p', `${ID}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  const entry = (uuid: string, parentUuid: string | null, more: object = {}) =>
    JSON.stringify({ type: 'user', uuid, parentUuid, isSidechain: false, ...more })
  const leaf = (leafUuid: string) => JSON.stringify({ type: 'last-prompt', leafUuid, lastPrompt: 'hi', sessionId: ID })
  const added = (lines: string[], end = '\n') => {
    const text = `${lines.join('\n')}${end}`
    writeFileSync(file, text)
    noteLeaf({ env: { CLAUDE_CONFIG_DIR: config }, cwd: '/p', vendorId: ID })
    return readFileSync(file, 'utf8').slice(text.length)
  }
  const [a, b, c] = [entry('a', null), entry('b', 'a'), entry('c', 'b')]
  const beside = [a, entry('x', 'a'), leaf('x'), b, c]
  assert.equal(added(beside), `${leaf('c')}\n`)
  assert.equal(added([...beside, '{"type":"ass'], ''), `\n${leaf('c')}\n`, 'a kill left half a line')
  assert.equal(added([...beside, entry('s', 'c', { isSidechain: true })]), `${leaf('c')}\n`)
  assert.equal(added([a, leaf('a'), b, c]), '', 'what follows hangs on the leaf')
  assert.equal(added([a, b, c, leaf('c')]), '')
  assert.equal(added([a, b, c]), '', 'there is no leaf')
  assert.equal(added(['']), '')
  writeFileSync(join(config, 'other'), `${beside.join('\n')}\n`)
  rmSync(file)
  symlinkSync(join(config, 'other'), file)
  noteLeaf({ env: { CLAUDE_CONFIG_DIR: config }, cwd: '/p', vendorId: ID })
  assert.equal(readFileSync(join(config, 'other'), 'utf8'), `${beside.join('\n')}\n`)
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
