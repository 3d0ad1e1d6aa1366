import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isHigherRisk } from '../../src/domain/assessment.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { codePoint } from '../support/code-point.ts'

using classifier = openClassifier({ realPath: path => path })
const assess = async (command: unknown) =>
  classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' })
const riskOf = async (command: string) => (await assess(command)).risk

const high = fc.constantFrom(
  'rm -rf x',
  'sudo ls',
  'chmod 777 x',
  'git push --force',
  'git clean -fd',
  'find . -delete',
  'tee out.txt',
  'dd if=a of=/dev/sda',
  'mkfs.ext4 /dev/sda1',
  'npm publish',
  'cat .env',
  'kubectl delete ns prod',
  'curl https://e.example -o x',
)
/** Ways to run a command inside another. None may lower its risk. */
const wrap = fc.constantFrom<(inner: string) => string>(
  inner => `env A=1 ${inner}`,
  inner => `nohup ${inner}`,
  inner => `timeout 5 ${inner}`,
  inner => `nice -n 3 ${inner}`,
  inner => `command ${inner}`,
  inner => `( ${inner} )`,
  inner => `{ ${inner}; }`,
  inner => `if true; then ${inner}; fi`,
  inner => `for i in 1 2; do ${inner}; done`,
  inner => `while false; do ${inner}; done`,
  inner => `true && ${inner}`,
  inner => `ls | ${inner}`,
  inner => `${inner} | cat`,
  inner => `${inner} &`,
  inner => `! ${inner}`,
  inner => `echo "$( ${inner} )"`,
  inner => `f() { ${inner}; }; f`,
  inner => `A=1 ${inner}`,
  inner => `bash -c ${quoted(inner)}`,
  inner => `eval ${quoted(inner)}`,
  inner => `trap ${quoted(inner)} EXIT`,
  inner => `bash <<'END_OF_IT'\n${inner}\nEND_OF_IT`,
  inner => `time ${inner}`,
  inner => `coproc { ${inner}; }`,
  inner => `cat <( ${inner} )`,
  inner => `[[ -n "$( ${inner} )" ]]`,
  inner => `case a in a) ${inner};; esac`,
)
/** Commands that do not affect the commands beside them. */
const harmless = fc.constantFrom(
  'ls',
  'pwd',
  'npm test',
  'git status',
  'echo "rm"',
  'cargo build',
  'true',
  'x=1',
  '# note',
  'cd src',
)
const separator = fc.constantFrom(' ; ', ' && ', ' || ', '\n', ' & ')

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A name in another spelling of the shell: with quotes, backslashes or escapes. */
function spell(word: string, how: number): string {
  const [first = '', ...rest] = word
  const tail = rest.join('')
  const hex = first.charCodeAt(0).toString(16)
  const ways = [
    `'${word}'`,
    `"${word}"`,
    `\\${word}`,
    `${first}''${tail}`,
    `${first}"${tail}"`,
    `$'\\x${hex}${tail}'`,
    `${first}\\\n${tail}`,
  ]
  return ways[how % ways.length] ?? word
}

test('a HIGH command stays HIGH in any wrappers', async () => {
  await fc.assert(
    fc.asyncProperty(high, fc.array(wrap, { minLength: 1, maxLength: 4 }), async (command, wraps) => {
      const wrapped = wraps.reduce<string>((inner, one) => one(inner), command)
      assert.equal(await riskOf(wrapped), 'HIGH', wrapped)
    }),
    { numRuns: 1500 },
  )
})

test('a HIGH command stays HIGH in any spelling of its name', async () => {
  await fc.assert(
    fc.asyncProperty(high, fc.nat(20), async (command, how) => {
      const [name = '', ...rest] = command.split(' ')
      const spelled = [spell(name, how), ...rest].join(' ')
      assert.equal(await riskOf(spelled), 'HIGH', spelled)
    }),
    { numRuns: 300 },
  )
})

test('no company makes a command look smaller', async () => {
  const any = fc.oneof(high, harmless)
  await fc.assert(
    fc.asyncProperty(any, fc.array(fc.tuple(harmless, separator), { maxLength: 4 }), async (command, before) => {
      const together = before.map(([other, join]) => other + (other.startsWith('#') ? '\n' : join)).join('') + command
      const [alone, joined] = [await riskOf(command), await riskOf(together)]
      assert.ok(!isHigherRisk(alone, joined), `${alone} alone, ${joined} in ${JSON.stringify(together)}`)
    }),
    { numRuns: 800 },
  )
})

test('a wrapper makes no command LOW that was not', async () => {
  const medium = fc.constantFrom(
    'git status',
    'curl https://e.example',
    'npx evil',
    'unknown-program',
    './x.sh',
    'docker ps',
    'env',
  )
  await fc.assert(
    fc.asyncProperty(medium, fc.array(wrap, { minLength: 1, maxLength: 3 }), async (command, wraps) => {
      const wrapped = wraps.reduce<string>((inner, one) => one(inner), command)
      assert.notEqual(await riskOf(wrapped), 'LOW', wrapped)
    }),
    { numRuns: 600 },
  )
})

test('an unknown program is never LOW, whatever its words', async () => {
  const word = fc.stringMatching(/^[a-z0-9./-]{1,12}$/)
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 5 }), async words => {
      assert.notEqual(await riskOf(['frobnicate-it', ...words].join(' ')), 'LOW')
    }),
    { numRuns: 300 },
  )
})

test('nothing makes the classifier throw: any text, any bytes, any value', async () => {
  const pieces = fc.constantFrom(
    '$(',
    ')',
    '`',
    '"',
    "'",
    '{',
    '}',
    '<<',
    'EOF',
    '\n',
    ';',
    '|',
    '&',
    '>',
    '<',
    '$',
    '((',
    '))',
    '[[',
    ']]',
    'rm',
    ' ',
    '\\',
    'x',
    '=',
    '*',
    '#',
    '\0',
    '\u202e',
    'if',
    'fi',
    'do',
  )
  const soup = fc.array(pieces, { maxLength: 60 }).map(list => list.join(''))
  const bytes = fc.uint8Array({ maxLength: 300 }).map(list => Buffer.from(list).toString('utf8'))
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(soup, bytes, fc.string({ unit: codePoint, maxLength: 200 }), fc.anything()),
      async command => {
        const { risk } = await assess(command)
        assert.match(risk, /^(LOW|MEDIUM|HIGH)$/)
        if (typeof command !== 'string') assert.notEqual(risk, 'LOW')
      },
    ),
    { numRuns: 3000 },
  )
})

test('nothing makes the classifier throw: any tool, any input', async () => {
  const tool = fc.oneof(
    fc.constantFrom(
      'Bash',
      'Read',
      'Write',
      'Edit',
      'Glob',
      'Grep',
      'WebFetch',
      'mcp__a__b',
      '__proto__',
      'constructor',
    ),
    fc.string(),
  )
  await fc.assert(
    fc.asyncProperty(tool, fc.anything(), async (name, input) => {
      const { risk } = await classifier.classify({ tool: name, input, project: '/proj', home: '/home/u' })
      assert.match(risk, /^(LOW|MEDIUM|HIGH)$/)
    }),
    { numRuns: 1500 },
  )
})
