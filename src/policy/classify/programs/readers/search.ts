import type { Rule, Rules } from '../../call.ts'
import { named } from '../common/build.ts'
import { type ReaderRow, reader } from '../common/reader.ts'

/** Programs that look for a text in files. */
export const SEARCHERS: Rules = {
  ...named(
    'grep egrep fgrep ggrep zgrep zegrep zfgrep bzgrep xzgrep',
    reader({
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
    // It starts the programs that unpack.
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
  ack: search({
    operands: 'pattern-first',
    harmless: `-cfhHiIklLnoQrRsSuvwx1 -A: -B: -C? -g -m: --after-context: --before-context: --context? --break --nobreak --count
      --color --nocolor --column --group --nogroup --heading --noheading --files-with-matches --files-without-matches
      --follow --ignore-case --smart-case --literal --match: --max-count: --no-filename --with-filename --type: --ignore-dir:
      --ignore-directory: --ignore-file: --invert-match --word-regexp --passthru --print0 --sort-files --show-types
      --range-start: --range-end: --proximate? --noenv --underline --python --js --ts --go --rust --ruby --java --html --css
      --json --yaml --markdown --php --shell --sql --xml`,
    reads: '-x --files-from:',
    // Its language for output once was Perl.
    runs: '--pager: --ackrc: --output: --env',
    deep: 'always',
  }),
  look: reader({
    operands: 'pattern-first',
    harmless: '-abdf -t: --alternative --alphanum --ignore-case --terminate:',
  }),
  ...named(
    'locate mlocate plocate',
    reader({
      operands: 'text',
      harmless: `-AbcehHiLNPpqrsSw0 -l: -n: -r: --all --basename --count --existing --follow --ignore-case --limit:
        --nofollow --null --quiet --regexp: --regex --statistics --wholename`,
      reads: '-d: --database:',
    }),
  ),
}

/** A search of whole trees: with what is hidden or ignored it finds secrets too. */
function search(row: ReaderRow): Rule {
  const plain = reader(row)
  return call => {
    const wide = call.args.find(arg =>
      /^(-[a-zA-Z]*u[a-zA-Z]*|--hidden|-\.|--no-ignore.*|--unrestricted)$/.test(arg.value),
    )
    if (wide) call.say('read.wide', 'MEDIUM', `${wide.text} searches what is hidden or ignored`, wide)
    plain(call)
  }
}
