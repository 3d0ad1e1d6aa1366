import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, HOLE } from '../shell/args.ts'
import { named, reader } from './rule-builders.ts'

const SUM = reader({
  harmless: `-bctwzqsUu -a: -l: --algorithm: --binary --check --length: --tag --text --zero --ignore-missing --quiet
    --status --strict --warn --raw --base64 --untagged --debug --UNIVERSAL --01`,
})

const UNPACKED = reader({ harmless: '-cfqvkdltT --force --quiet --verbose --stdout --decompress --keep --list --test' })

/** Programs that print files, parts of them, or counts. */
export const PRINTERS: ProgramRules = {
  cat: reader({
    harmless: `-AbeEnstTuvl --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
      --show-nonprinting`,
  }),
  tac: reader({ harmless: '-br -s: --before --regex --separator:' }),
  rev: reader({ harmless: '-0 --zero' }),
  nl: reader({
    harmless: `-b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --header-numbering: --footer-numbering:
      --line-increment: --join-blank-lines: --number-format: --no-renumber --number-separator: --starting-line-number:
      --number-width: --section-delimiter:`,
  }),
  head: reader({ harmless: '-# -n: -c: -qvz --lines: --bytes: --quiet --silent --verbose --zero-terminated' }),
  tail: reader({
    harmless: `-# -n: -c: -s: -qvzfFr --lines: --bytes: --sleep-interval: --pid: --max-unchanged-stats: --follow?
      --retry --quiet --silent --verbose --zero-terminated`,
  }),
  wc: reader({
    harmless: '-cmlLw --bytes --chars --lines --words --max-line-length --total: --debug',
    reads: '--files0-from:',
  }),
  ...named(
    'ls dir vdir gls',
    reader({
      harmless: `-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1@eO -I: -w: -T: --all --almost-all --author --escape --block-size:
        --ignore-backups --color? --directory --dired --classify? --file-type --format: --full-time
        --group-directories-first --no-group --human-readable --si --dereference-command-line
        --dereference-command-line-symlink-to-dir --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes
        --dereference --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name
        --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --tabsize: --width: --context --zero`,
    }),
  ),
  ...named(
    'exa eza lsd',
    reader({
      harmless: `-1aAbBdDfFgGhHilmMnoOrRSTuUxXZ -I: -L: -s: -t: -w: --all --almost-all --classify? --color? --colour?
        --color-scale? --directory-only --dirs-only --only-dirs --only-files --tree --depth: --level: --long --oneline
        --grid --across --recurse --recursive --icon? --icons? --git --git-ignore --git-repos --no-git --header
        --group --group-directories-first --group-dirs: --ignore-glob: --inode --links --blocks --blocksize --binary
        --bytes --modified --accessed --created --changed --time: --time-style: --sort: --reverse --numeric
        --no-permissions --no-filesize --no-user --no-time --no-icons --total-size --date: --size: --permission:
        --human-readable --blocks --extended --octal-permissions --hyperlink? --width: --absolute?`,
    }),
  ),
  stat: reader({
    harmless: '-LftFlnqrsx -c: --dereference --file-system --format: --printf: --terse --cached:',
  }),
  readlink: reader({
    harmless: `-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent
      --verbose --zero`,
  }),
  realpath: reader({
    harmless: `-emELPqsz --canonicalize --canonicalize-existing --canonicalize-missing --logical --physical --quiet
      --relative-to: --relative-base: --strip --no-symlinks --zero`,
  }),
  ...named(
    'cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum xxhsum shasum gsha256sum sha256 sha512 sha1',
    SUM,
  ),
  md5: reader({ harmless: '-pqrtxn -s: -c:' }),
  du: reader({
    harmless: `-0abcDhHklLmPsSxAIgn -B: -d: -t: --apparent-size --null --all --block-size: --bytes --total
      --dereference-args --max-depth: --human-readable --inodes --dereference --no-dereference --separate-dirs --si
      --summarize --threshold: --time? --time-style: --exclude: --one-file-system --count-links`,
    reads: '-X: --exclude-from: --files0-from:',
  }),
  df: reader({
    harmless: `-ahHiklmPTvgbnY -B: -t: -x: --all --block-size: --human-readable --inodes --local --no-sync --sync
      --output? --portability --type: --print-type --exclude-type: --si --total`,
  }),
  ...named(
    'dust duf',
    reader({ harmless: '-rsbcfitFxpPjSDR -d: -n: -w: -X: -v: -e: --depth: --all --json --only: --hide:' }),
  ),
  tree: reader({
    harmless: `-adflxqNQpugshDFivrtcUAnCSXJ -L: -P: -I: -H: -T: --gitignore --ignore-case --matchdirs --metafirst --prune
      --info --noreport --charset: --filelimit: --si --du --timefmt: --inodes --device --sort: --dirsfirst --filesfirst
      --nolinks --hintro: --houtro: --hyperlink --opt-toggle --compress: --acl --selinux`,
    reads: '--fromfile --fromtabfile --gitfile: --infofile:',
    // -R starts itself again with `-o 00Tree.html` in every folder.
    writes: '-o: -R',
  }),
  cut: call => {
    if (!showsNames(call)) CUT(call)
  },
  paste: reader({ harmless: '-d: -sz --delimiters: --serial --zero-terminated' }),
  join: reader({
    harmless: `-a: -e: -i -j: -o: -t: -v: -1: -2: -z --ignore-case --check-order --nocheck-order --header
      --zero-terminated`,
  }),
  comm: reader({
    harmless: '-123iz --check-order --nocheck-order --output-delimiter: --total --zero-terminated',
  }),
  col: reader({ harmless: '-bfhpx -l: --no-backspaces --fine --spaces --tabs --pass --lines:' }),
  column: reader({
    harmless: `-tenxLJjrmSd -c: -s: -o: -N: -H: -R: -T: -W: -E: -O: -l: -i: -p: --table --separator:
      --output-separator: --table-columns: --table-hide: --table-right: --table-truncate: --table-wrap: --table-order:
      --table-columns-limit: --table-noheadings --table-name: --table-noextreme: --table-header-repeat
      --table-empty-lines --json --tree: --tree-id: --tree-parent: --output-width: --fillrows --keep-empty-lines --use-spaces:`,
  }),
  fold: reader({ harmless: '-# -bsc -w: --bytes --spaces --width: --characters' }),
  fmt: reader({
    harmless: `-# -cstumn -w: -p: -g: -d: -l: --crown-margin --prefix: --split-only --tagged-paragraph --uniform-spacing
      --width: --goal:`,
  }),
  ...named('expand unexpand', reader({ harmless: '-# -aif -t: --initial --tabs: --all --first-only' })),
  pr: reader({
    harmless: `-# -acdfFJmrtTv -e? -h: -i? -l: -n? -N: -o: -s? -S? -w: -W: -D: --columns: --across --double-space
      --expand-tabs? --form-feed --header: --length: --merge --number-lines? --indent: --no-file-warnings
      --separator? --sep-string? --omit-header --width: --page-width: --pages: --date-format:`,
  }),
  ...named('zcat gzcat bzcat xzcat lzcat zstdcat lz4cat', UNPACKED),
  ...named('tsort colrm csvlook', reader({ harmless: '' })),
  tokei: reader({
    harmless:
      '-fCVv -c: -e: -s: -t: -o: -n: --files --hidden --sort: --rsort: --type: --types: --exclude: --languages --columns: --output: --compact --no-ignore --num-format:',
  }),
  scc: reader({
    harmless: `-abcdlvwzm -f: -i: -s: -n: -M: --by-file --ci --cocomo --no-cocomo --no-complexity --no-duplicates
      --exclude-dir: --exclude-ext: --not-match: --include-ext: --sort: --wide --format: --count-as: --no-gen --no-min
      --languages --no-size --uloc`,
    writes: '-o: --output: --format-multi:',
  }),
  cloc: call => {
    // Any other value of `--vcs` is a command.
    CLOC({ ...call, args: call.args.filter(arg => !/^--vcs=(git|svn|auto)$/.test(arg.value)) })
  },
}

const CLOC = reader({
  harmless: `--by-file --by-file-by-lang --by-percent: --exclude-dir: --exclude-ext: --exclude-lang: --include-lang:
      --include-ext: --match-f: --not-match-f: --match-d: --not-match-d: --fullpath --quiet --json --yaml --xml --csv --md
      --hide-rate --skip-uniqueness --show-lang --show-ext --progress-rate: --timeout: --processes: --no-recurse
      --max-file-size: --sum-one --show-os`,
  reads: '--list-file: --exclude-list-file: --read-lang-def: --force-lang-def:',
  writes: `--out: --report-file: --ignored: --counted: --found: --categorized: --sql: --strip-comments: --strip-code:
      --write-lang-def: --write-lang-def-incl-dup: --unique:`,
  runs: '--vcs: --extract-with: --custom-cmd: --config: --diff-list-file: --opt-match-f:',
})

const LESS = reader({
  harmless: `-# -aABcCdeEfFgGiIJKLmMnNqQrRsSuUVwWXz~ -b: -D: -h: -j: -p: -P: -x: -y: --quit-if-one-screen --no-init
    --RAW-CONTROL-CHARS --raw-control-chars --chop-long-lines --LINE-NUMBERS --line-numbers --ignore-case --IGNORE-CASE
    --QUIT-AT-EOF --quit-at-eof --squeeze-blank-lines --pattern: --tabs: --silent --quiet --wheel-lines: --mouse --use-color
    --no-lessopen --shift: --window: --clear-screen --plain --lines: --no-pause --print-over --squeeze --exit-on-eof`,
  asks: "-t: -T: --tag: --tag-file: -'",
  writes: '-o: -O: --log-file: --LOG-FILE:',
  runs: '-k: --cmd: --lesskey-file: --lesskey-src: --lesskey-content:',
})

const MAN = reader({
  operands: 'text',
  harmless: `-afikKwWcduUt7I -s: -S: -L: -e: -m: -r: -R: -E: --sections: --all --whatis --apropos --where --path --location
    --where-cat --location-cat --locale: --systems: --extension: --ignore-case --match-case --regex --wildcard --names-only
    --no-subpages --prompt: --ascii --encoding: --no-hyphenation --nh --no-justification --nj --debug --global-apropos`,
  runs: `-P: --pager: -H? --html? -C: --config-file: -l --local-file -X? --gxditview? -Z --ditroff -T? --troff-device? -p:
    --preprocessor: -M: --manpath: --recode: -B: -D --default --troff`,
})

const GLOW = reader({
  harmless: '-alpn -s: -w: --all --local --pager --style: --width: --line-numbers --preserve-new-lines',
})

/** Pagers. Without a terminal they only print; at a terminal some of their keys start programs. */
export const PAGERS: ProgramRules = {
  ...named('less more most', call => {
    const command = call.args.find(
      arg => arg.value.startsWith('+') && !/^\+\+?(\d+[gG%]?|[FG]|\/[\w .:-]+)$/.test(arg.value),
    )
    if (command) call.say('flag.runs', 'HIGH', `${command.text} is a command for ${call.name}`, command)
    LESS({ ...call, args: call.args.filter(arg => !/^\+/.test(arg.value)) })
  }),
  ...named(
    'bat batcat',
    reader({
      harmless: `-AfnpsSuP -r: -l: -H: -m: -d --show-all --plain --language: --highlight-line: --file-name: --diff
        --diff-context: --tabs: --wrap: --chop-long-lines --terminal-width: --number --color: --italic-text: --decorations:
        --force-colorization --paging: --no-paging --map-syntax: --theme: --theme-light: --theme-dark: --list-themes
        --list-languages --style: --line-range: --squeeze-blank --squeeze-limit: --unbuffered --config-dir --diagnostic
        --nonprintable-notation: --strip-ansi: --binary: --ignored-suffix: --no-config --no-custom-assets --no-lessopen`,
      writes: '--generate-config-file',
      runs: '--pager: --config-file: --lessopen',
    }),
  ),
  ...named('man whatis apropos', call => {
    const file = call.args.find(arg => /^[^-].*\//.test(arg.value))
    if (file) call.say('flag.unusual', 'MEDIUM', `${file.text} is a file to format, not the name of a page`, file)
    if (file) call.path(file, 'read')
    const isCat = (arg: Arg | undefined) => arg?.known === true && /^(cat|-P(=)?cat|--pager=cat)$/.test(arg.value)
    const plain = call.args.filter(
      (arg, at) =>
        !(isCat(arg) && (at > 0 || arg.value !== 'cat')) &&
        !(/^(-P|--pager)$/.test(arg.value) && isCat(call.args[at + 1])),
    )
    MAN({ ...call, args: plain })
  }),
  info: reader({
    operands: 'text',
    harmless:
      '-abkwOv -n: -x: --all --apropos: --index-search: --node: --location --where --subnodes --usage --speech-friendly',
    reads: '-f: --file: -d: --directory:',
    writes: '-o: --output: --dribble:',
    runs: '--restore: --init-file: -r --raw-escapes',
  }),
  ...named('glow', call => {
    for (const arg of call.args) judgeShown(call, arg.value)
    GLOW(call)
  }),
  mdcat: reader({ harmless: '--local --local-only --no-colour --no-pager --columns: --fail -l -p -P' }),
  tput: call => {
    const odd = call.args.find(arg => !TERMINAL_NAMES.test(arg.value))
    if (odd) call.say('flag.unknown', 'MEDIUM', `${odd.text} is not one of the everyday words of tput`, odd)
  },
  stty: call => {
    const odd = call.args.find(arg => !/^(-a|-g|--all|--save|size|speed|-?echo|sane)$/.test(arg.value))
    if (odd) call.say('terminal', 'MEDIUM', `${odd.text} changes the terminal`, odd)
  },
  ...named('reset tset', call => call.say('terminal', 'MEDIUM', `${call.name} sets up the terminal anew`)),
  // Its output is endless and fills any file; in a pipe it says yes to what a program would ask a person.
  yes: call => call.say('tool.other', 'MEDIUM', 'yes goes on without end, or agrees for a person'),
}

const TERMINAL_NAMES =
  /^(cols|lines|colors|bold|dim|sgr0|smul|rmul|rev|smso|rmso|setaf|setab|op|el|el1|ed|cup|sc|rc|civis|cnorm|clear|home|cuu|cud|cuf|cub|cuu1|bel|longname|\d+)$/

function judgeShown(call: ProgramCall, value: string): undefined {
  if (/:\/\/|^(github|gitlab)\.|^[\w-]+@/.test(value)) call.say('net.get', 'MEDIUM', `${call.name} fetches ${value}`)
}

const CUT = reader({
  harmless: `-b: -c: -d: -f: -nswz --bytes: --characters: --delimiter: --fields: --complement --only-delimited
      --output-delimiter: --zero-terminated`,
})

/** `cut -d= -f1 .env`: the names of variables, if every line of the file is one. A value of several lines would be shown. */
function showsNames({ args, scope, fence }: ProgramCall): boolean {
  const words = args.map(({ known, glob, value }) => (known && !glob ? value : HOLE)).join(' ')
  const [, , name] =
    /^(-d ?= -f ?1|-f ?1 -d ?=|--delimiter== --fields=1)( -s)? ((\.\/)?\.env[\w.-]*)$/.exec(words)?.slice(1) ?? []
  if (name === undefined || scope.cwd === undefined || scope.folders.size > 1) return false
  const place = locatePath(name, scope.cwd, fence)
  const found = place.where === 'inside' ? fence.look?.(place.path) : undefined
  return (
    found?.is === 'file' &&
    found.bytes
      .toString('utf8')
      .split('\n')
      .every(line => /^\s*($|#.*$|(export\s+)?[A-Za-z_]\w*=("[^"]*"|'[^']*'|[^"'\n]*)\s*(#.*)?$)/.test(line))
  )
}
