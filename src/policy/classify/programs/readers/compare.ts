import type { Rules } from '../../call.ts'
import { named } from '../common/build.ts'
import { reader } from '../common/reader.ts'

/** Programs that sort lines, split them off or show how files differ. */
export const COMPARERS: Rules = {
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
    call.say('write.files', 'MEDIUM', 'split writes files')
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
