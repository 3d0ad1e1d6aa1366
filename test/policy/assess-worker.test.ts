import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Assessment } from '../../src/domain/assessment.ts'
import { classify, openClassifier } from '../../src/policy/classify/classify.ts'
import { MAX_COMMAND, mayBeSlow, parseShell, precheck } from '../../src/policy/shell/parse.ts'

const place = { project: '/proj', home: '/home/u' }
const bash = (command: string) => ({ tool: 'Bash', input: { command }, ...place })

test('a small command is judged at once and a long one in a worker, with the same outcome', async () => {
  using classifier = openClassifier({ deadlineMs: 60_000 })
  assert.ok(!(classifier.classify(bash('echo one && rm two')) instanceof Promise))
  const long = bash(`echo ${'word '.repeat(1000)}; rm two`)
  const slow = classifier.classify(long)
  assert.ok(slow instanceof Promise)
  assert.deepEqual(await slow, classify(long, { realPath: path => path }))
})

test('a long harmless command is judged like a short one', async () => {
  // The deadline is not what is tested here, and a busy machine may miss a short one.
  using classifier = openClassifier({ deadlineMs: 60_000 })
  const { risk, reasons } = await classifier.classify(bash(`git commit -m "${'a line of the message. '.repeat(200)}"`))
  assert.equal(risk, 'MEDIUM')
  assert.deepEqual(
    reasons.map(reason => reason.code),
    ['git.commit'],
  )
})

test('what cannot be read in time is HIGH, and the next command is read by a new worker', async () => {
  // Thousands of redirects take a new worker far longer than the deadline, the other command takes it a few milliseconds.
  using classifier = openClassifier({ deadlineMs: 50 })
  const { risk, reasons } = await classifier.classify(bash('>a '.repeat(MAX_COMMAND / 3)))
  assert.equal(risk, 'HIGH')
  assert.match(reasons[0]?.text ?? '', /in time/)
  // On a busy machine even those may miss such a short deadline, so the test asks until they do not.
  const codes = new Set<string | undefined>()
  for (let tries = 0; tries < 20 && !codes.has('shell.openers'); tries++)
    codes.add((await classifier.classify(bash(`echo ${'{a,b} '.repeat(33)}`))).reasons[0]?.code)
  assert.ok(codes.has('shell.openers'))
})

test('a policy that fails inside refuses', () => {
  const broken = () => {
    throw new Error('the disk is gone')
  }
  const found = classify(bash('cat a'), { realPath: broken }) as Assessment
  assert.deepEqual([found.risk, found.reasons[0]?.code], ['HIGH', 'policy.failed'])
})

test('hostile input never holds the event loop for more than 20 ms', async () => {
  using classifier = openClassifier()
  await classifier.classify(bash(`ls ${'x '.repeat(2000)}`))
  const hostile = [
    '$[',
    '$(',
    '${',
    '`',
    '((',
    '<(',
    '"$(',
    '$(( $( ',
    'a<<E\n',
    '{a,',
    'case x in ',
    '[[ a =~ (',
    'ls;',
    'ls|',
    'a=1;',
    '$(ls) ',
  ]
  const large = ['x ', '"x" ', 'f() { ls; }; ', 'for i in 1 2 3 4 5 6 7 8; do ls $i; done; ', `${'x'.repeat(80)} `]
  const worst: number[] = []
  for (const opener of [...hostile, ...large]) {
    const command = opener.repeat(Math.floor(MAX_COMMAND / opener.length))
    // A garbage collection may fall into one round, so the least of three is what our own code took.
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < 3; round++) {
      const { longestMs, result } = await watched(() => Promise.resolve(classifier.classify(bash(command))))
      if (hostile.includes(opener)) assert.equal(result.risk, 'HIGH', opener)
      least = Math.min(least, longestMs)
    }
    worst.push(least)
  }
  assert.ok(Math.max(...worst) <= 20 + 1, `held for ${Math.max(...worst).toFixed(1)} ms`)
})

test('a command with brackets beyond number is HIGH without being read', () => {
  const found = classify(bash('$('.repeat(600)))
  assert.ok(!(found instanceof Promise))
  assert.deepEqual([found.risk, found.reasons[0]?.code], ['HIGH', 'shell.openers'])
})

test('a command over the limit is HIGH without being read', () => {
  const found = classify(bash(`ls ${'x'.repeat(1_000_000)}`))
  assert.ok(!(found instanceof Promise))
  assert.deepEqual([found.risk, found.reasons[0]?.code], ['HIGH', 'shell.too-long'])
})

test('more than 32 openers are never LOW', async () => {
  const { risk } = await classify(bash(`echo ${'{a,b} '.repeat(33)}`))
  assert.notEqual(risk, 'LOW')
  assert.ok(mayBeSlow('('.repeat(33)))
  assert.ok(!mayBeSlow('('.repeat(32)))
})

test('characters that hide or turn text are found where they stand', () => {
  const at = (command: string) => precheck(command).map(({ code, at }) => [code, at?.[0]])
  assert.deepEqual(at('ls\u0007'), [['text.control', 2]])
  assert.deepEqual(at('ls\rx'), [['text.control', 2]])
  assert.deepEqual(at('ls \u202ex'), [
    ['text.bidi', 3],
    ['text.invisible', 3],
  ])
  assert.deepEqual(at('l\u200bs'), [['text.invisible', 1]])
  assert.deepEqual(at('echo \ud800'), [['text.broken', 5]])
  assert.deepEqual(at('echo "👩‍💻 ☕️ 日本"\r\n\tls'), [])
})

test('an error in any nested script is an error of the whole', () => {
  for (const command of [
    'echo "$(if)"',
    'echo `fi`',
    'cat <(done)',
    'echo "${x:-$(do)}"',
    'cat <<E\n$(then)\nE',
    'a[$(fi)]=1',
  ])
    assert.ok(parseShell(command).errors.length > 0, command)
})

test('a here-document without an end, a redirect to nowhere and a sum that is none are errors', () => {
  for (const command of ['cat <<E\nx', 'ls >', 'echo $((rm x))', '(( rm x ))'])
    assert.ok(parseShell(command).errors.length > 0, command)
  for (const command of ['cat <<E\nx\nE', 'ls > x', 'echo $((x + y))', '(( x++ ))'])
    assert.deepEqual(parseShell(command).errors, [], command)
})

/** The longest this thread was busy in one go, in its own processor time: what else runs on the machine does not count. */
async function watched<T>(work: () => Promise<T>): Promise<{ longestMs: number; result: T }> {
  let over = false
  let longest = 0
  let last = busyMs()
  const look = () => {
    const now = busyMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  const done = work().finally(() => {
    over = true
  })
  look()
  while (!over) {
    await sleep(1)
    look()
  }
  return { longestMs: longest, result: await done }
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
