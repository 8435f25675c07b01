"""The public files as they are published, with their quirks, and rows made up in their place."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from treaty.errors import TreatyError
from treaty.records import Counts
from treaty.records.encoder import encode
from treaty.studies import fraud, hospital, lending
from treaty.studies.published import numbers

LOANS = '''\
Notes offered by Prospectus (https://www.lendingclub.com/info/prospectus.action)
"id","member_id","loan_amnt","funded_amnt","term","int_rate","installment","grade","sub_grade",\
"emp_title","emp_length","home_ownership","annual_inc","verification_status","issue_d","url","desc",\
"purpose","title","zip_code","addr_state","dti","delinq_2yrs","inq_last_6mths","open_acc","pub_rec",\
"revol_bal","revol_util","total_acc"
"1077501","1296599","5000","5000"," 36 months"," 10.65%","162.87","B","B2","","10+ years","RENT",\
"24000","Verified","Dec-2011","https://example.org/1","Borrower added: need, ""really""","credit_card",\
"Computer","860xx","AZ","27.65","0","1","3","0","13648","83.7%","9"

"1077430","1314167","2500","2500"," 60 months"," 15.27%","59.83","C","C4","Ryder","< 1 year","RENT",\
"30000","Source Verified","Dec-2011","https://example.org/2","","car","bike","309xx","GA","1","0","5",\
"3","0","1687","9.4%","4"
"1077175","1313524","2400","2400"," 36 months"," 15.96%","84.33","C","C5","","n/a","OWN",\
"12252","Not Verified","Dec-2011","https://example.org/3","","small_business","b","606xx","IL","8.72",\
"","","2","0","2956","","10"

Total amount funded in policy code 1: 6417608175
Total amount funded in policy code 2: 1944088810
'''


def test_loans_as_published(tmp_path):
    path = tmp_path / "loan.csv"
    path.write_text(LOANS)
    frame = lending.read(path)
    assert frame.columns == lending.COLUMNS
    assert len(frame) == 3
    assert frame["int_rate"].to_list() == [10.65, 15.27, 15.96]
    assert frame["term"].to_list() == [36.0, 60.0, 36.0]
    assert frame["revol_util"].to_list() == [83.7, 9.4, None]
    counts = Counts()
    assert encode(lending.features(), frame, counts).shape == (3, 18)
    wide = encode(lending.features(one_hot=True), frame, Counts())
    assert wide.shape[1] == 12 + sum(len(c) for c in lending.CATEGORIES.values())


def test_what_would_give_a_person_away_is_dropped():
    for word in ("id", "member_id", "url", "zip_code", "desc", "emp_title"):
        assert word not in lending.COLUMNS
    for word in ("total_charges", "total_costs", "zip_code_3_digits", "zip3"):
        assert word not in hospital.COLUMNS


def test_cards_as_published(tmp_path):
    header = ",".join(['"Time"', *(f'"V{i}"' for i in range(1, 29)), '"Amount"', '"Class"'])
    rows = [",".join(["0", *["-1.3598071336738"] * 28, "149.62", f'"{c}"']) for c in (0, 1, 0)]
    path = tmp_path / "creditcard.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    frame = fraud.read(path)
    assert frame["Class"].to_list() == [0, 1, 0]
    assert frame["V7"].to_list() == [-1.3598071336738] * 3
    assert encode(fraud.features(), frame, Counts()).shape == (3, 29)


OLD = (
    "Health Service Area,Hospital County,Operating Certificate Number,Facility ID,Facility Name,"
    "Age Group,Zip Code - 3 digits,Gender,Race,Ethnicity,Length of Stay,Type of Admission,"
    "Patient Disposition,Discharge Year,CCS Diagnosis Code,Source of Payment 1,"
    "Emergency Department Indicator,Total Charges,Total Costs\n"
    "Western NY,Allegany,0226700,37,Cuba Memorial Hospital Inc,30 to 49,147,F,White,Not Span,4,"
    'Elective,"Skilled Nursing Home",2012,122,Blue Cross,Y,5333.90,4818.42\n'
    "Western NY,Allegany,0226700,37,Cuba Memorial Hospital Inc,70 or Older,147,M,White,Not Span,"
    "120 +,Emergency,Expired,2012,122,Medicare,N,99999.90,80000.00\n"
    "Western NY,Allegany,0226700,37,Cuba Memorial Hospital Inc,18 to 29,147,U,White,Not Span,"
    "2,Newborn,Home or Self Care,2012,122,Self-Pay,N,100.00,80.00\n"
)
NEW = (
    "Hospital Service Area,Hospital County,Operating Certificate Number,Permanent Facility Id,"
    "Facility Name,Age Group,ZIP Code,Gender,Race,Ethnicity,Length of Stay,Type of Admission,"
    "Patient Disposition,Discharge Year,CCSR Diagnosis Code,Payment Typology 1,"
    "Emergency Department Indicator,Total Charges,Total Costs\n"
    "New York City,Bronx,7000006,1168,Montefiore Med Center,50 to 69,104,M,Other,Unknown,7,Urgent,"
    '"Hospice - Home",2021,CIR019,Medicaid,Y,"320,922.43","60,241.34"\n'
)


def test_discharges_of_all_years(tmp_path):
    (tmp_path / "2012.csv").write_text(OLD)
    (tmp_path / "2021.csv").write_text(NEW)
    frame = hospital.read([tmp_path / "2012.csv", tmp_path / "2021.csv"])
    assert frame.columns == list(hospital._NAMES)
    assert frame["length_of_stay"].to_list() == [4.0, 120.0, 2.0, 7.0]
    assert frame["patient_disposition"].to_list() == [
        "Long-Term / Custodial Care",
        "Hospice / End-of-Life Care",
        "Home / Self Care",
        "Hospice / End-of-Life Care",
    ]
    assert frame["payment_1"].to_list() == ["Private", "Government", "Self Pay", "Government"]
    assert frame["gender"].to_list() == ["Female", "Male", "U", "Male"]
    assert frame["ed_indicator"].to_list() == ["Yes", "No", "No", "Yes"]
    assert encode(hospital.features(), frame, Counts()).shape == (4, 6)


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lending.read, "not LendingClub's loans"),
        (fraud.read, "not the card transactions"),
        (hospital.read, "not SPARCS discharges"),
    ],
)
def test_another_file_is_said_to_be_one(tmp_path, read, says):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TreatyError, match=says):
        read(tmp_path / "other.csv")
    with pytest.raises(TreatyError, match="no such file"):
        read(tmp_path / "nothing.csv")


def _explained(study, frame) -> float:
    x = np.vstack([block[0] for block in study.blocks(frame)])
    y = np.concatenate([block[1] for block in study.blocks(frame)])
    return float(LinearRegression().fit(x, y).score(x, y))


def test_generated_loans_are_explained_as_real_ones_are():
    """0.89 of all columns, 0.75 of ten components, measured on the real loans of 2007 to 2011."""
    study = lending.study(lending.generate(60_000, seed=3), "generated")
    assert study.public_rows == 10_000
    assert _explained(study, study.private) == pytest.approx(0.75, abs=0.08)
    x = encode(study.features, study.private, Counts())
    y = study.target.encode(study.private["int_rate"], Counts())
    assert LinearRegression().fit(x, y).score(x, y) == pytest.approx(0.89, abs=0.05)


def test_generated_cards_have_as_many_frauds_and_are_told_as_well():
    frame = fraud.generate(150_000, seed=3)
    assert frame["Class"].mean() == pytest.approx(0.00172, rel=0.25)
    x, y = frame.drop("Class").to_numpy(), frame["Class"].to_numpy()
    assert LinearRegression().fit(x, y).score(x, y) == pytest.approx(0.48, abs=0.12)
    study = fraud.study(frame, "generated")
    assert _explained(study, study.private) == pytest.approx(0.50, abs=0.12)


def test_generated_discharges_are_of_213_hospitals():
    frame = hospital.generate(400_000, seed=3)
    sizes = frame["facility_name"].value_counts()["count"] * (hospital.FULL_ROWS / len(frame))
    assert len(sizes) == 213
    assert int((sizes >= 10_000).sum()) == 86
    assert len(frame) == 400_000
    study = hospital.study(frame, "generated")
    assert _explained(study, study.private.head(100_000)) == pytest.approx(0.07, abs=0.03)
    stays = frame["length_of_stay"]
    assert stays.min() >= 1
    assert stays.clip(0, 30).mean() == pytest.approx(5.8, abs=0.6)


def test_the_last_rows_are_public():
    frame = lending.generate(45_000, seed=1)
    study = lending.study(frame, "generated")
    assert study.private["int_rate"].to_list() == frame["int_rate"][:35_000].to_list()
    assert study.public["int_rate"].to_list() == frame["int_rate"][-10_000:].to_list()
    with pytest.raises(TreatyError, match="too few"):
        lending.Study("x", study.features, study.target, study.terms, frame[:10], 8, "partial")


def test_the_same_seed_makes_the_same_rows():
    for make in (lending.generate, fraud.generate, hospital.generate):
        assert make(2_000, 5).equals(make(2_000, 5))
        assert not make(2_000, 5).equals(make(2_000, 6))
        assert isinstance(make(2_000, 5), pl.DataFrame)


def test_of_a_merged_file_the_largest_complete_sample_is_taken(tmp_path):
    loans = lending.generate(60, seed=1)
    lacking = loans.head(40).with_columns(dti=pl.lit(None, dtype=pl.Float64), source=pl.lit("a"))
    whole = loans.tail(20).with_columns(source=pl.lit("b"))
    pl.concat([lacking, whole]).write_parquet(tmp_path / "merged.parquet")
    frame = lending.read(tmp_path / "merged.parquet")
    assert frame["int_rate"].to_list() == loans["int_rate"][-20:].to_list()
    lacking.write_parquet(tmp_path / "lacking.parquet")
    assert len(lending.read(tmp_path / "lacking.parquet")) == 40


def test_ages_are_written_in_two_ways(tmp_path):
    text = OLD.replace("30 to 49", "30-49").replace("18 to 29", "50-69")
    (tmp_path / "other.csv").write_text(text)
    ages = hospital.read(tmp_path / "other.csv")["age_group"].to_list()
    assert ages == ["30 to 49", "70 or Older", "50 to 69"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12,500", 12_500.0),
        ("$1,234.5", 1234.5),
        ("1e+05", 1e5),
        (" 36 months", 36.0),
        ("n/a", None),
    ],
)
def test_numbers_as_people_write_them(written, value):
    frame = pl.DataFrame({"a": [written]}).select(numbers("a"))
    assert frame["a"].to_list() == [value]


def test_files_that_cannot_be_read_are_told_in_a_sentence(tmp_path):
    (tmp_path / "loan.csv.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(TreatyError, match="is packed; unpack it first"):
        lending.read(tmp_path / "loan.csv.gz")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(TreatyError, match="cannot be read"):
        fraud.read(tmp_path / "empty.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(TreatyError, match="cannot be read"):
        hospital.read(tmp_path / "broken.parquet")


def test_discharges_without_a_name_are_left_out(tmp_path):
    (tmp_path / "2012.csv").write_text(
        OLD.replace("Cuba Memorial Hospital Inc", "Redacted for Confidentiality", 1).replace(
            "Cuba Memorial Hospital Inc", '""', 1
        )
    )
    assert hospital.read(tmp_path / "2012.csv")["length_of_stay"].to_list() == [2.0]


def test_a_transaction_cut_off_is_left_out(tmp_path):
    header = ",".join(["Time", *fraud.COMPONENTS, "Amount", "Class"])
    whole = ",".join(["0", *["0.5"] * 28, "10", "1"])
    (tmp_path / "cards.csv").write_text(f"{header}\n{whole}\n0,0.5,0.5")
    assert len(fraud.read(tmp_path / "cards.csv")) == 1
