import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Assessment, Piece } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { fits, recordInBash, recordInXargs } from './oracle.ts'

const classifier = openClassifier({ realPath: path => path })
const UNREAD = /^(shell\.(unreadable|too|openers|keyword)|policy\.failed|text\.)/

/** What the policy believes that bash will start; `undefined` if it says that it could not read the command. */
function believe(command: string, project: string): readonly (readonly string[])[] | undefined {
  const request = { tool: 'Bash', input: { command }, project, home: '/home/u' }
  const { reasons, pieces } = classifier.classify(request) as Assessment
  return reasons.some(({ code }) => UNREAD.test(code)) ? undefined : pieces.flatMap(argvIn)
}

function argvIn({ argv, pieces }: Piece): (readonly string[])[] {
  return [...(argv ? [argv] : []), ...pieces.flatMap(argvIn)]
}

const literal = fc.constantFrom(
  'a',
  'b',
  '-x',
  '--del',
  'c/d',
  'x=1',
  '',
  '.env',
  '-',
  '--',
  'a.b',
  '-rf',
  'x=~',
  'x=a:~/b',
  '--f=~/x',
  'x=~v/w',
  'a:~',
  '~:x',
)
const name = fc.constantFrom('v', 'w', 'X')
const quoted = literal.map(text => `'${text}'`)
const escapes = fc.constantFrom(
  `$'\\x2d\\x78'`,
  `$'a\\tb'`,
  `"a b"`,
  `'a  b'`,
  String.raw`\-x`,
  `"'-c' 'k'"`,
  `"a\\\\b"`,
  `-""x`,
)

const { word } = fc.letrec<{ word: string; atom: string; text: string }>(tie => ({
  text: fc.oneof({ maxDepth: 2 }, literal, quoted, escapes, tie('atom')),
  atom: fc.oneof(
    { maxDepth: 3 },
    literal,
    quoted,
    escapes,
    name.map(v => `$${v}`),
    name.map(v => `"$${v}"`),
    name.map(v => `\${${v}}`),
    fc
      .tuple(name, fc.constantFrom('-', ':-', '+', ':+', '=', ':=', '%', '#', '/a/', ':'), tie('text'))
      .map(([v, how, text]) => `\${${v}${how}${text}}`),
    fc
      .tuple(name, fc.constantFrom('#%s', '!%s', '%s^^', '%s@Q', '%s[0]', '%s:1', '%s[@]'))
      .map(([v, shape]) => `\${${shape.replace('%s', v)}}`),
    fc.constantFrom(
      '$1',
      '"$1"',
      '$@',
      '"$@"',
      '$*',
      '"$*"',
      '$#',
      '$((1+2))',
      '$((v))',
      '{a,-b}',
      '{1..3}',
      '{3..1}',
      '{01..03}',
      '{a..c}',
      '{-1..1}',
      '{a,{b,c}}x',
      '{a}',
      '{,x}',
      '$PWD',
      '$HOME',
      '"$HOME"/x',
      '~root',
      '~+',
      '\\~/x',
      '"~"/x',
      '~+/x',
      '~/"x"',
      '\\{a,b}',
      '{a,"b"}',
      '\\$v',
      '"\\$v"',
      "$'\\n'",
      '{,}x',
      '""{,x}',
      '~-',
      '$-',
      '$IFS',
      '$?',
      '~',
      '~/x',
      '$_',
      '$0',
    ),
    fc
      .tuple(
        fc.constantFrom(
          'echo',
          'echo -n',
          'printf',
          'printf --',
          "printf '%s '",
          "printf '%s\\n'",
          "printf -- '%s'",
          "printf '%b'",
          "printf '%d'",
          'echo -e',
          "printf '%5s'",
          "printf '\\055x%s'",
        ),
        tie('text'),
      )
      .map(([print, text]) => `$(${print} ${text})`),
    fc.tuple(fc.constantFrom('echo', 'printf'), tie('text')).map(([print, text]) => `"$(${print} ${text})"`),
    literal.map(text => `\`echo ${text}\``),
    fc.constantFrom(
      '$(echo a b)',
      '"$(echo a b)"',
      '$(true)',
      '"$(true)"',
      '$(:)',
      "$(printf 'a\\n\\n')",
      '$(printf "%s %s" a b c)',
      '$(echo a; echo b)',
      '$(echo a | cat)',
      '$(<x)',
      '$(false || echo q)',
    ),
  ),
  word: fc.oneof(
    { weight: 5, arbitrary: tie('atom') },
    { weight: 2, arbitrary: fc.tuple(tie('atom'), tie('atom')).map(([a, b]) => a + b) },
  ),
}))

const words = fc.array(word, { maxLength: 4 }).map(list => list.join(' '))
const call = fc.oneof(
  fc.tuple(fc.constantFrom('p', 'q'), words).map(([program, rest]) => `${program} ${rest}`),
  fc
    .tuple(fc.constantFrom('p', 'q'), words, fc.constantFrom('| q $v', '<<< "$v"', '|| p $w', '&& p "$v"'))
    .map(([program, rest, more]) => `${program} ${rest} ${more}`),
  fc.tuple(name, word, words).map(([v, value, rest]) => `${v}=${value} p ${rest}`),
)

const set = fc.oneof(
  fc.tuple(name, word).map(([v, value]) => `${v}=${value}`),
  fc.tuple(name, word).map(([v, value]) => `${v}+=${value}`),
  fc
    .tuple(
      fc.constantFrom(
        'export',
        'declare',
        'declare -x',
        'readonly',
        'typeset -l',
        'declare -u',
        'declare -i',
        'declare -a',
      ),
      name,
      word,
    )
    .map(([how, v, value]) => `${how} ${v}=${value}`),
  fc.tuple(name, word).map(([v, value]) => `read ${v} <<< ${value}`),
  fc.tuple(name, word).map(([v, value]) => `read -r ${v} w <<< ${value}`),
  fc.tuple(name, word).map(([v, value]) => `printf -v ${v} '%s' ${value}`),
  fc.tuple(name, words).map(([v, list]) => `${v}=(${list})`),
  words.map(list => `set -- ${list}`),
  fc.constantFrom(
    'shift',
    'set -f',
    'set -k',
    'IFS=-',
    'IFS=:',
    'for IFS in -; do :; done',
    'declare IFS=-',
    'read IFS <<< -',
    'export IFS=-',
    'printf -v IFS -- -',
    'f() { IFS=-; }; f',
    'eval IFS=-',
    'IFS=- read v w <<< a-b',
    'cd /',
    'set -- -x',
    'v=a-b',
    'w=~/a',
    'w=~"x"',
    'v="{a,b}"',
    'v=a{b,c}d',
    'PWD=/x',
    'HOME=/x',
    'unset HOME',
    'cd() { :; }',
    'echo() { printf x; }',
    'alias p=q',
    'shopt -s extglob',
    'hash -p /x p',
    'set -B',
    'set +B',
    'coproc v=q',
    'select v in a; do break; done <<< 1',
    'trap v=q EXIT',
    'v[1]=x',
    'v[0]=-x',
    'declare -A v',
    'local v=q',
    'IFS=',
    'unset v',
    'let v=3',
    'declare -n v=w',
    'mapfile -t v <<< "$w"',
    'v=1 w=2',
    'export v',
    'set -u',
    'shopt -s nullglob',
    'v=a; v=$v$v',
    'eval v=-x',
    "eval 'w=$v'",
    'getopts x v -x',
    'unset -f p',
    'false && v=q',
    'true || v=q',
    '((v=5))',
    'v=$((3))',
    ': ${v:=z}',
    'w=$v',
    'export $(echo v=-x)',
    'for v in 1 2; do :; done',
    'while read v; do :; done <<< a',
    'case $v in a) w=b;; esac',
    '{ v=k; }',
    '(v=k)',
    'v=k | true',
    'v=k &',
  ),
)

const { script } = fc.letrec<{ script: string; line: string }>(tie => ({
  line: fc.oneof(
    { maxDepth: 2 },
    { weight: 3, arbitrary: call },
    { weight: 4, arbitrary: set },
    fc.tuple(name, words, tie('line')).map(([v, list, body]) => `for ${v} in ${list}; do ${body}; done`),
    fc.tuple(tie('line'), words).map(([body, list]) => `f() { ${body}; }; f ${list}`),
    fc.tuple(tie('line'), words).map(([body, list]) => `f() { local v=$1; ${body}; p "$v"; }; f ${list}`),
    tie('line').map(body => `( ${body} )`),
    tie('line').map(body => `{ ${body}; }`),
    fc.tuple(tie('line'), tie('line')).map(([a, b]) => `if true; then ${a}; else ${b}; fi`),
    fc.tuple(tie('line'), tie('line')).map(([a, b]) => `${a} && ${b}`),
    tie('line').map(body => `eval '${body.replaceAll("'", `'\\''`)}'`),
  ),
  script: fc.tuple(fc.array(tie('line'), { maxLength: 4 }), call).map(([lines, last]) => [...lines, last].join('\n')),
}))

test('what the policy takes for certain is what bash does', () => {
  const seed = Number(process.env['PCC_ORACLE_SEED'] ?? 27)
  const numRuns = Number(process.env['PCC_ORACLE_RUNS'] ?? 2_000)
  const commands = fc.sample(script, { seed, numRuns })
  const { folder, calls: real } = recordInBash(commands)
  assert.equal(real.length, commands.length)
  let calls = 0
  const wrong = commands.flatMap((command, index) => {
    const believed = believe(command, folder)
    if (!believed) return []
    return (real[index] ?? []).flatMap(argv => {
      calls++
      return believed.some(one => fits(one, argv))
        ? []
        : [`${command}\n  bash: ${JSON.stringify(argv)}\n  policy: ${JSON.stringify(believed)}`]
    })
  })
  assert.ok(calls > numRuns / 2, `only ${calls} calls were compared`)
  assert.equal(
    wrong.length,
    0,
    `seed ${seed}: ${wrong.length} of ${calls}\n${wrong
      .toSorted((a, b) => a.length - b.length)
      .slice(0, 12)
      .join('\n')}`,
  )
})

test('what the policy takes for certain of the commands that xargs builds is what xargs runs', () => {
  const seed = Number(process.env['PCC_ORACLE_SEED'] ?? 27)
  const piece = fc.constantFrom(
    'a',
    '-x',
    ' ',
    '  ',
    '\n',
    '"',
    '"b c"',
    "-c 'k'",
    '\\',
    ',',
    '\t',
    '{}',
    'd e',
    '',
    '""',
  )
  const flags = fc.constantFrom(
    '',
    '-n1',
    '-n 2',
    '-I{}',
    '-I X',
    '-0',
    '-d ,',
    "-d '\\n'",
    '-L1',
    '-L 2',
    '-r',
    '-t',
    '-n1 -r',
    '-i',
    '--null',
    '-x -n 2',
  )
  const fed = fc.array(piece, { minLength: 1, maxLength: 6 }).map(list => `'${list.join('').replaceAll("'", `'\\''`)}'`)
  const how = fc.constantFrom(
    "printf '%s\\n'",
    "printf '%s'",
    'echo',
    'echo -n',
    'printf',
    "printf '%s %s\\n' q",
    'printf -- ',
    "printf '\\055%s'",
  )
  const given = fc.constantFrom('', '-k', 'm{}n', 'X', '{}', "'{} y'")
  const command = fc
    .tuple(how, fed, flags, given)
    .map(([print, text, flag, word]) => `${print} ${text} | xargs ${flag} p ${word}`)
  const commands = fc.sample(command, { seed, numRuns: Number(process.env['PCC_ORACLE_RUNS'] ?? 400) })
  const real = recordInXargs(commands)
  assert.equal(real.length, commands.length)
  const wrong = commands.flatMap((command, index) => {
    const believed = believe(command, '/proj') ?? [['\0']]
    const missed = (real[index] ?? []).filter(argv => !believed.some(one => fits(one, argv)))
    return missed.map(argv => `${command}\n  xargs: ${JSON.stringify(argv)}\n  policy: ${JSON.stringify(believed)}`)
  })
  assert.equal(wrong.length, 0, `seed ${seed}: ${wrong.length}\n${wrong.slice(0, 8).join('\n')}`)
})
