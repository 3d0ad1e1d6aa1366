import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Need } from '../../../src/domain/needs.ts'
import { type PromptContextDeps, tellContext } from '../../../src/supervisor/hooks/prompt-context.ts'
import { bareEnv } from '../../support/world.ts'
import { answerBy, type HookWorld, openHookWorld } from './hook-world.ts'

const note = (title: string, tags: string, body: string) => `---\ntitle: ${title}\ntags: [${tags}]\n---\n\n${body}\n`

function need(project: string | null, text: string): Need {
  return {
    ...{ key: text, kind: 'question', text, next: 'pcc respond 1', since: 1, count: 1, priority: 0, number: 1 },
    ...{ project, session_id: null, task_id: null, title: null, risk: null },
  }
}

/** The context for a prompt or a start. */
async function tell(
  world: HookWorld,
  event: { text?: string; source?: string },
  deps: Partial<PromptContextDeps> = {},
) {
  const { text, source = 'startup' } = event
  const told = text === undefined ? world.event('session_start', { source }) : world.event('prompt', { text })
  const env = { ...bareEnv(world.home), AGENT_ROLE: 'conductor' }
  return (await answerBy(tellContext({ budgetMs: 60_000, ...deps }), told, world.context({ env }))).context
}

test('notes that fit a prompt are told with their file, once, and again after the context was dropped', async t => {
  const world = openHookWorld(t)
  world.write('.perpetualcc/knowledge/money.md', note('Rounding', 'invoices', 'Round half up.\n```\n`````'))
  world.write('.perpetualcc/knowledge/door.md', note('The door', 'door', 'It is red.'))
  world.write('.perpetualcc/knowledge/broken.md', 'no front matter')
  const context = (await tell(world, { text: 'Change how invoices are summed' })) ?? ''
  assert.match(context, /Rounding \(from \.perpetualcc\/knowledge\/money\.md, written by a person\)/)
  assert.match(context, /Round half up/)
  assert.match(context, /^``````$/m, 'nothing in a note closes its fence')
  assert.ok(!context.includes('It is red'))
  assert.equal(await tell(world, { text: 'And the invoices again' }), undefined)
  assert.equal(await tell(world, { text: 'What is the weather?' }), undefined)
  assert.equal(await tell(world, { source: 'compact' }), undefined)
  assert.match((await tell(world, { text: 'And the invoices again' })) ?? '', /Round half up/)
})

test('a start is told what waits in this project and what the role is, each with its source', async t => {
  const world = openHookWorld(t)
  const needs = async () => [
    need(world.project, 'Which port?\u001b[2J'),
    need('/elsewhere', 'Another project'),
    need(null, 'A login is needed'),
  ]
  const profile = async (role: string) => ({ text: `You only delegate, ${role}.` })
  const context = (await tell(world, {}, { needs, profile })) ?? ''
  assert.match(context, /Waiting for the person in .* \(from pcc pending/)
  assert.match(context, /- question: Which port\?␛\[2J \(pcc respond 1\)/)
  assert.match(context, /A login is needed/)
  assert.ok(!context.includes('Another project'))
  assert.match(context, /Your role is conductor \(from profiles\/conductor\.toml\):\nYou only delegate, conductor\./)
  assert.equal(await tell(world, {}, { needs: async () => [], profile: async () => undefined }), undefined)
})

test('hooks.context = false says nothing', async t => {
  const world = openHookWorld(t)
  const needs = async () => [need(null, 'Which port?')]
  assert.ok(await tell(world, {}, { needs }))
  world.configure('[hooks]\ncontext = false\n')
  assert.equal(await tell(world, {}, { needs }), undefined)
})

test('a source that is slow or fails takes nothing from the others, and nothing is waited for', async t => {
  const world = openHookWorld(t)
  const profile = async () => ({ text: 'Delegate.' })
  const never = () => new Promise<never>(() => undefined)
  const loaded = await world.context().settings()
  // More time than in use: what is told is also noted, which takes long on a loaded machine.
  const quick = { ...world, context: (more: object) => ({ ...world.context(more), settings: async () => loaded }) }
  const slow = await tell(quick, {}, { profile, needs: never, budgetMs: 1_000 })
  assert.match(slow ?? '', /Delegate\./)
  const failing = await tell(world, {}, { profile, needs: () => Promise.reject(new Error('no')) })
  assert.match(failing ?? '', /Delegate\./)
})

test('the context is capped, and no note is read after the time is over', async t => {
  const world = openHookWorld(t)
  for (let at = 0; at < 6; at++)
    world.write(`.perpetualcc/knowledge/n${at}.md`, note(`Note ${at}`, 'invoices', 'x'.repeat(3_500)))
  const context = (await tell(world, { text: 'invoices' })) ?? ''
  assert.ok(context.length <= 4_000, String(context.length))
  assert.equal(context.match(/A note of the project/g)?.length, 3)
  assert.equal(await tell(world, { text: 'the other invoices' }, { budgetMs: 0 }), undefined)
})
