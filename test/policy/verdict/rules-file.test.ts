import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../../src/base/errors.ts'
import { parseRules } from '../../../src/policy/verdict/rules-file.ts'

const refused = (content: string): string => {
  try {
    parseRules('rules.toml', content)
  } catch (thrown) {
    assert.ok(thrown instanceof AppError)
    assert.equal(thrown.code, 'rules_invalid')
    return thrown.message
  }
  return assert.fail(`${content} was taken`)
}

test('rules are read in the order written, each with its line', () => {
  const content =
    '# mine\n[[rules]]\neffect = "allow"\ntool = "Bash"\nmatch = "npm run *"\n\n[[rules]]\ntool = "*"\neffect = "ask"\n'
  assert.deepEqual(parseRules('rules.toml', content), [
    { rule: { effect: 'allow', tool: 'Bash', match: 'npm run *' }, file: 'rules.toml', line: 2, number: 1 },
    { rule: { effect: 'ask', tool: '*' }, file: 'rules.toml', line: 7, number: 2 },
  ])
  assert.deepEqual(parseRules('rules.toml', ''), [])
  assert.equal(parseRules('rules.toml', 'rules = [{ effect = "deny", tool = "Bash" }]')[0]?.rule.effect, 'deny')
})

test('a wrong file is refused whole, with the line of the mistake', () => {
  const good = '[[rules]]\neffect = "deny"\ntool = "Bash"\n'
  const rows: [string, RegExp][] = [
    ['[[rules]\n', /^rules\.toml:1: /],
    [
      `${good}[[rules]]\ntool = "Bash"\neffect = "permit"\n`,
      /^rules\.toml:6: effect: it must be one of allow, ask, deny$/,
    ],
    [`${good}\n[[rules]]\neffect = "ask"\n`, /^rules\.toml:5: tool: a text is needed$/],
    [`${good}mach = "x"\n`, /^rules\.toml:4: there is no key "mach"; a rule has effect, tool and match/],
    [`${good}[other]\nx = 1\n`, /^rules\.toml:4: there is no key "other"/],
    ['\nrules = "allow all"\n', /^rules\.toml:2: rules are written as \[\[rules\]\] tables$/],
    ['\nrules = ["x"]\n', /^rules\.toml:2: a rule is a table with effect, tool and match/],
    ['rules = [["allow"]]\n', /^rules\.toml:1: a rule is a table with effect, tool and match/],
    [`${good}match = 5\n`, /^rules\.toml:4: match: a text is needed$/],
    [`${good}match = ""\n`, /^rules\.toml:4: match: it is empty$/],
    [`${good}match = "a\\u202eb"\n`, /^rules\.toml:4: match: it holds a character that cannot be seen$/],
    [`${good}effect = "allow"\n`, /^rules\.toml:4: /],
  ]
  for (const [content, message] of rows) assert.match(refused(content), message)
})
