import { measureEndings, readEndings } from '../test/brain/measure-endings.ts'

// npm run endings [-- path.jsonl]: measures how well questions at the end of a turn are distinguished from reports. Lines: {"text", "kind"}.
const { rows, questions, precision, recall, kinds, falseAlarms, missed } = measureEndings(readEndings(process.argv[2]))
const share = (value: number) => value.toFixed(3)
process.stdout.write(
  [
    `${rows} endings, ${questions} of them questions`,
    `precision ${share(precision)}   recall ${share(recall)}   kind ${share(kinds)}`,
    ...falseAlarms.map(text => `not a question: ${JSON.stringify(text)}`),
    ...missed.map(text => `missed:         ${JSON.stringify(text)}`),
    '',
  ].join('\n'),
)
