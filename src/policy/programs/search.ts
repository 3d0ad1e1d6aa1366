import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { looksForSecrets } from '../paths/secret-files.ts'
import { type Arg, deriveArg, findOperands, isFlag } from '../shell/args.ts'
import { named, type ReaderRow, reader } from './rule-builders.ts'

/** Programs that search for a text in files. */
export const SEARCHERS: ProgramRules = {
  ...named(
    'grep egrep fgrep ggrep zgrep zegrep zfgrep bzgrep xzgrep',
    searchAll({
      operands: 'pattern-first',
      patternFlags: 'e f regexp file',
      deep: 'r R recursive dereference-recursive',
      harmless: `-# -abcEFGhHiIlLnoOPpqrRsSTuUvVwxyzZ -e: -m: -A: -B: -C: -d: -D: --regexp: --max-count: --after-context:
        --before-context: --context? --directories: --devices: --extended-regexp --fixed-strings --basic-regexp
        --perl-regexp --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data --no-messages
        --invert-match --byte-offset --line-number --line-buffered --with-filename --no-filename --label: --only-matching
        --quiet --silent --binary-files: --text --recursive --dereference-recursive --include: --exclude: --exclude-dir:
        --include-dir: --files-without-match --files-with-matches --count --initial-tab --null --color? --colour?
        --group-separator: --no-group-separator --binary`,
      reads: '-f: --file: --exclude-from:',
    }),
  ),
  rg: search({
    operands: 'pattern-first',
    patternFlags: 'e f regexp file files type-list',
    harmless: `-.0abcFhHiIlLnNoPpqsSuUvVwx -e: -g: -t: -T: -A: -B: -C: -m: -M: -j: -d: -r: -E: --regexp: --glob: --iglob:
      --type: --type-not: --max-count: --max-depth: --maxdepth: --context: --after-context: --before-context: --replace:
      --sort: --sortr: --type-add: --type-clear: --type-list --threads: --encoding: --color: --colors: --max-filesize:
      --max-columns: --max-columns-preview --engine: --auto-hybrid-regex --pcre2 --pcre2-version --no-pcre2 --files
      --files-with-matches --files-without-match --count --count-matches --ignore-case --smart-case --case-sensitive
      --word-regexp --line-regexp --fixed-strings --invert-match --line-number --no-line-number --column --no-column
      --only-matching --passthru --pretty --heading --no-heading --with-filename --no-filename --null --null-data --json
      --stats --no-stats --trim --no-trim --vimgrep --multiline --multiline-dotall --hidden --no-hidden --no-ignore*
      --unrestricted --follow --no-follow --one-file-system --text --binary --no-binary --crlf --quiet --no-messages
      --no-config --path-separator: --context-separator: --no-context-separator --field-context-separator:
      --field-match-separator: --dfa-size-limit: --regex-size-limit: --mmap --no-mmap --line-buffered --block-buffered
      --glob-case-insensitive --ignore --ignore-vcs --debug --trace --no-unicode --unicode --hyperlink-format: --include-zero
      --byte-offset --sort-files --stop-on-nonmatch --generate: --no-fixed-strings --no-json --no-multiline`,
    // It starts programs that unpack files.
    asks: '-z --search-zip --pre-glob:',
    reads: '-f: --file: --ignore-file:',
    runs: '--pre: --hostname-bin:',
    deep: 'always',
  }),
  ag: search({
    operands: 'pattern-first',
    harmless: `-acDfhHiklLnoQrRsSuUtvwWz0 -A? -B? -C? -g: -G: -m: --ackmate --after? --before? --context? --break --nobreak
      --count --color --nocolor --column --filename --nofilename --group --nogroup --heading --noheading
      --files-with-matches --files-without-matches --depth: --file-search-regex: --hidden --ignore-case --ignore: --ignore-dir:
      --literal --max-count: --numbers --nonumbers --only-matching --print-long-lines --print-all-files --passthrough
      --all-text --all-types --case-sensitive --smart-case --unrestricted --invert-match --vimgrep --width: --word-regexp
      --one-device --follow --silent --stats --stats-only --python --js --ts --cc --cpp --go --rust --ruby --java --html
      --css --json --yaml --md --markdown --php --shell --sql --xml --list-file-types --null --recurse --norecurse`,
    reads: '-p: --path-to-ignore:',
    runs: '--pager:',
    deep: 'always',
  }),
  ack: searchAll({
    operands: 'pattern-first',
    harmless: `-cfhHiIklLnoQrRsSuvwx1 -A: -B: -C? -g -m: --after-context: --before-context: --context? --break --nobreak --count
      --color --nocolor --column --group --nogroup --heading --noheading --files-with-matches --files-without-matches
      --follow --ignore-case --smart-case --literal --match: --max-count: --no-filename --with-filename --type: --ignore-dir:
      --ignore-directory: --ignore-file: --invert-match --word-regexp --passthru --print0 --sort-files --show-types
      --range-start: --range-end: --proximate? --noenv --underline --python --js --ts --go --rust --ruby --java --html --css
      --json --yaml --markdown --php --shell --sql --xml`,
    reads: '-x --files-from:',
    // Its output language used to be Perl.
    runs: '--pager: --ackrc: --output: --env',
    deep: 'always',
  }),
  look: reader({
    operands: 'pattern-first',
    harmless: '-abdf -t: --alternative --alphanum --ignore-case --terminate:',
  }),
  ...named(
    'locate mlocate plocate',
    locate({
      operands: 'text',
      harmless: `-AbcehHiLNPpqrsSw0 -l: -n: -r: --all --basename --count --existing --follow --ignore-case --limit:
        --nofollow --null --quiet --regexp: --regex --statistics --wholename`,
      reads: '-d: --database:',
    }),
  ),
}

/** A search of the whole machine by name. */
function locate(row: ReaderRow): ProgramRule {
  const plain = reader(row)
  return call => {
    const telling = call.args.find(arg => !isFlag(arg) && looksForSecrets(arg.value))
    if (telling) call.say('read.secrets', 'MEDIUM', `${telling.text} looks for secrets on the whole machine`, telling)
    plain(call)
  }
}

/** A search of whole trees: if it includes hidden or ignored files, it finds secrets too. */
function search(row: ReaderRow): ProgramRule {
  const plain = reader(row)
  return call => {
    const wide = call.args.find(arg =>
      /^(-[a-zA-Z]*u[a-zA-Z]*|--hidden|-\.|--no-ignore.*|--unrestricted)$/.test(arg.value),
    )
    const telling = call.args.find(arg => !isFlag(arg) && SECRET_WORDS.test(arg.value))
    if (wide && telling)
      call.say('read.secrets', 'MEDIUM', `${telling.text} is looked for where secrets are kept`, telling)
    else if (wide) call.say('read.wide', 'MEDIUM', `${wide.text} searches what is hidden or ignored`, wide)
    plain(call)
  }
}

/** The same for grep and ack, which leave out nothing: a search of the whole project for the names of secrets finds their values. */
function searchAll(row: ReaderRow): ProgramRule {
  const plain = row.deep === 'always' ? search(row) : reader(row)
  return call => {
    const { name, args, scope } = call
    const isDeep =
      name === 'ack' || args.some(arg => /^(-[a-zA-Z]*[rR][a-zA-Z]*|--(dereference-)?recursive)$/.test(arg.value))
    const words = args.filter(arg => !isFlag(arg))
    const isWhole =
      words.length < 2 || words.some(({ text, value }) => /^(\.\/?|\*|\.\*)$/.test(text) || value === scope.cwd)
    const isNarrow = args.some(arg => /^--include(=|$)/.test(arg.value) || LEAVES_OUT.test(arg.value))
    if (isDeep && isWhole && !isNarrow) judgeSecretNames(call, args)
    plain(call)
  }
}

/** `--exclude=.env*`: the files with secrets are not searched. */
const LEAVES_OUT = /^--exclude=\.env\*$/

/**
 * Adds a reason if the words of a search find the names of secrets in files of variables and show their lines: those names are in upper case, and
 * what is looked for with `=` is a value.
 */
export function judgeSecretNames(call: ProgramCall, words: readonly Arg[]): undefined {
  const showsNames = words.some(({ value }) => /^(-[a-zA-Z]*[lLcq][a-zA-Z]*|--(files-with.*|count|quiet))$/.test(value))
  const anyCase = words.some(({ value }) => /^(-[a-zA-Z]*[iy][a-zA-Z]*|--ignore-case)$/.test(value))
  const telling = words.find(
    ({ value }) =>
      !/^--(ex|in)clude/.test(value) &&
      (anyCase || /[=:]/.test(value.replace(/^--regexp=/, '')) ? SECRET_WORDS : UPPER_SECRETS).test(value),
  )
  if (telling && !showsNames)
    call.say('read.secrets', 'MEDIUM', `${telling.text} is looked for where secrets are kept`, telling)
}

/** Words with which somebody looks for secrets and not for code. */
export const SECRET_WORDS = /secret|passw(or)?d|token|api[-_]?key|private[-_ ]key|credential|AKIA|BEGIN .*KEY|_KEY\b/i

/** Those of them that are the names of variables. */
const UPPER_SECRETS =
  /SECRET|PASSW(OR)?D|TOKEN|API[-_.]?\??KEY|PRIVATE[-_. ]\??KEY|CREDENTIAL|AKIA|BEGIN .*KEY|_KEY\b|\[[A-Za-z]*[A-Z][A-Za-z]*\](ecret|assw|oken)/

/** Programs that sort lines, pick lines out or compare files. */
export const COMPARERS: ProgramRules = {
  ...named(
    'sort gsort',
    reader({
      harmless: `-bdfghiMnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case
        --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort
        --reverse --sort: --version-sort --batch-size: --check? --debug --key: --merge --stable --buffer-size:
        --field-separator: --parallel: --unique --zero-terminated`,
      asks: '-T: --temporary-directory:',
      reads: '--files0-from: --random-source:',
      writes: '-o: --output:',
      runs: '--compress-program:',
    }),
  ),
  uniq: reader({
    harmless: `-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields: --group? --ignore-case --skip-chars:
      --unique --zero-terminated --check-chars:`,
    writesFrom: 1,
  }),
  shuf: reader({
    harmless: '-erz -i: -n: --echo --input-range: --head-count: --repeat --zero-terminated',
    asks: '--random-source:',
    writes: '-o: --output:',
  }),
  split: call => {
    const [file, prefix] = findOperands(call.args, [
      '-l',
      '-b',
      '-n',
      '-C',
      '-a',
      '--lines',
      '--bytes',
      '--number',
      '--suffix-length',
      '--additional-suffix',
    ])
    const isPlain = call.args.every(
      arg =>
        arg.known &&
        (!isFlag(arg) ||
          /^(-[lbna]\w*|-d|--(lines|bytes|numeric-suffixes|additional-suffix)(=[\w.]+)?)$/.test(arg.value)),
    )
    if (file) call.path(file, 'read')
    if (prefix) call.path(deriveArg(`${prefix.value}aa`, prefix), 'write')
    call.say(isPlain && prefix?.value.includes('/') ? 'file.make' : 'write.files', 'MEDIUM', 'split writes files')
    const filter = call.args.find(arg => /^--f[ilter]*(=|$)/.test(arg.value))
    if (!filter) return
    call.say('flag.runs', 'HIGH', `${filter.text} makes split run a command for every part`, filter)
    const text = filter.value.includes('=')
      ? { ...filter, value: filter.value.slice(filter.value.indexOf('=') + 1) }
      : call.args[call.args.indexOf(filter) + 1]
    if (text) call.shell(text)
  },
  csplit: call => call.say('write.files', 'MEDIUM', 'csplit writes files'),
  ...named(
    'diff gdiff colordiff',
    reader({
      harmless: `-# -abBcdeEfHiNnpPqrsTtuwyZl -C: -D: -F: -I: -L: -S: -U: -W: -x: --normal --brief --report-identical-files
        --context? --unified? --ed --rcs --side-by-side --width: --left-column --suppress-common-lines
        --show-c-function --show-function-line: --label: --expand-tabs --initial-tab --tabsize: --suppress-blank-empty
        --paginate --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case
        --no-ignore-file-name-case --exclude: --starting-file: --ignore-case --ignore-tab-expansion
        --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines:
        --text --strip-trailing-cr --ifdef: --line-format: --old-line-format: --new-line-format:
        --unchanged-line-format: --old-group-format: --new-group-format: --unchanged-group-format:
        --changed-group-format: --minimal --horizon-lines: --speed-large-files --color? --palette:`,
      reads: '-X: --exclude-from:',
      writes: '--output: --to-file: --from-file:',
    }),
  ),
  sdiff: reader({
    harmless: `-abBdEHilstWZ -I: -w: --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines
      --ignore-matching-lines: --strip-trailing-cr --text --width: --left-column --suppress-common-lines --expand-tabs
      --tabsize: --minimal --speed-large-files`,
    writes: '-o: --output:',
    runs: '--diff-program:',
  }),
  diff3: reader({
    harmless: `-aAeEx3iTmX -L: --show-all --ed --show-overlap --easy-only --overlap-only --merge --text
      --strip-trailing-cr --initial-tab --label:`,
    runs: '--diff-program:',
  }),
  cmp: reader({ harmless: '-blsh -i: -n: --print-bytes --ignore-initial: --verbose --bytes: --quiet --silent' }),
  diffstat: reader({
    harmless: '-bcCdEghKklmqrRstTuvVX -D: -f: -i: -n: -N: -p: -w: -x:',
    writes: '-o: -e:',
  }),
  iconv: reader({
    harmless: '-cls -f: -t: --from-code: --to-code: --list --silent --verbose',
    writes: '-o: --output:',
  }),
}
