import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownFolders } from '../../../src/base/app-paths.ts'
import { chainBrains, noOpinion } from '../../../src/brain/chain.ts'
import { withGuard } from '../../../src/brain/model-brain.ts'
import type { Brain } from '../../../src/domain/brain.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { openPolicyCache } from '../../../src/supervisor/hooks/policy-cache.ts'
import { judgeCalls } from '../../../src/supervisor/hooks/triage.ts'
import { adviseOn } from '../../../src/supervisor/session/brain.ts'
import { answerBy, openHookWorld } from './hook-world.ts'

type Judge = Brain['evaluatePermission']

test('the brains are asked when the dialog is about to open: a confident one allows, all else leaves it to the person', async t => {
  const world = openHookWorld(t)
  const context = world.context()
  using classifier = openClassifier({ own: ownFolders(world.paths) })
  const asked: string[] = []
  const unused = async () => noOpinion<never>('model', 'not asked')
  const modelOf = (judge: Judge): Brain => {
    const model = { name: 'model', answerQuestion: unused, summarize: unused, evaluatePermission: judge }
    return chainBrains([withGuard(model, { deadlineMs: 10_000 })], { threshold: 0.7 })
  }
  const judgeBy = async (brain: Brain, kind: 'tool_before' | 'permission', command: string) => {
    const judge = judgeCalls({
      ...{ classifier, home: world.home, mayInputChange: async () => false, decided: () => {} },
      policyFor: openPolicyCache({ paths: world.paths, env: context.env, answers: { find: async () => undefined } }),
      opinion: request => (assessment, signal) => {
        asked.push(String(request.input['command']))
        const about = async () => ({ project: world.project, task: '', decisions: [], similar: [] })
        return adviseOn({ request, assessment }, { brain, threshold: 0.7, context: about }, signal)
      },
    })
    const event = world.event(kind, { tool: 'Bash', input: { command } })
    return (await answerBy(judge, event, context)).decision
  }
  const opinion = (confidence: number) =>
    modelOf(async () => ({ value: true, confidence, by: 'model', reasoning: 'fine' }))
  const MEDIUM = 'frobnicate --all'
  assert.equal(await judgeBy(opinion(0.9), 'tool_before', MEDIUM), 'ask')
  assert.deepEqual(asked, [], 'before the call nobody waits for a model')
  assert.equal(await judgeBy(opinion(0.9), 'permission', MEDIUM), 'allow')
  assert.deepEqual(asked, [MEDIUM])
  assert.equal(await judgeBy(opinion(0.2), 'permission', MEDIUM), 'none')
  assert.equal(await judgeBy(opinion(0.9), 'permission', 'rm -rf ~/Documents'), 'deny', 'no brain approves HIGH')

  let tries = 0
  const down = modelOf(async () => {
    tries++
    throw new Error('the model is down')
  })
  for (let at = 0; at < 10; at++) assert.equal(await judgeBy(down, 'permission', MEDIUM), 'none')
  assert.ok(tries < 10, `a model that fails again and again is left alone, and was asked ${tries} times`)
})
