import type { Call, Rules } from '../../call.ts'
import { named } from '../common/build.ts'
import { reader } from '../common/reader.ts'

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

/** Programs that show texts a page at a time. Without a terminal they print; with one, some of their keys start programs. */
export const PAGERS: Rules = {
  ...named('less more most', call => {
    const command = call.args.find(arg => /^\+\+?[^\d/G]/.test(arg.value))
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
    MAN(call)
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
  // Without an end it fills whatever it is given; in a pipe it says yes to what a program would ask a person.
  yes: call => call.say('tool.other', 'MEDIUM', 'yes goes on without end, or agrees for a person'),
}

const TERMINAL_NAMES =
  /^(cols|lines|colors|bold|dim|sgr0|smul|rmul|rev|smso|rmso|setaf|setab|op|el|el1|ed|cup|sc|rc|civis|cnorm|clear|home|cuu|cud|cuf|cub|cuu1|bel|longname|\d+)$/

function judgeShown(call: Call, value: string): undefined {
  if (/:\/\/|^(github|gitlab)\.|^[\w-]+@/.test(value)) call.say('net.get', 'MEDIUM', `${call.name} fetches ${value}`)
}
